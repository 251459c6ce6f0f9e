//! Runs the programs in `examples/`. Each asserts its own invariants.

#[path = "../examples/async_transfers.rs"]
#[allow(dead_code)] // its `main` is the example's
mod async_transfers;

#[path = "../examples/bank_transfer.rs"]
#[allow(dead_code)] // its `main` is the example's
mod bank_transfer;

#[path = "../examples/http_stock.rs"]
#[allow(dead_code)] // its `main` is the example's
mod http_stock;

#[path = "../examples/inventory_counter.rs"]
#[allow(dead_code)] // its `main` is the example's
mod inventory_counter;

#[path = "../examples/job_queue.rs"]
#[allow(dead_code)] // its `main` is the example's
mod job_queue;

fn memory() -> clearway::Database {
    clearway::Options::in_memory().cache_size(16 << 20).open("example").unwrap()
}

#[test]
fn bank_transfers_keep_the_total() {
    bank_transfer::run(&memory()).unwrap();
}

#[test]
fn bank_transfers_keep_the_total_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let db = clearway::Database::open(directory.path().join("bank")).unwrap();
    bank_transfer::run(&db).unwrap();
}

#[test]
fn inventory_is_sold_once() {
    inventory_counter::run(&memory()).unwrap();
}

#[test]
fn jobs_are_done_once() {
    job_queue::run(&memory()).unwrap();
}

#[test]
fn transfers_of_tasks_keep_the_total() {
    async_transfers::run(&memory()).unwrap();
}

/// Many connections take the last items at the same time; some go away while they wait.
#[test]
fn http_service_sells_each_item_once() {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    async fn request(address: std::net::SocketAddr, line: &str) -> String {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(format!("{line} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer
    }

    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build();
    let db = memory();
    runtime.unwrap().block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = tokio::spawn(http_stock::serve(db.clone(), listener));
        assert!(request(address, "PUT /stock/bolt/50").await.starts_with("HTTP/1.1 200"));
        // While this holds the row, clients wait, and some of them leave.
        let stock = db.table("stock").unwrap();
        let mut holder = db.begin_async("holder");
        holder.get_for_update(&stock, "bolt").await.unwrap();
        for _ in 0..20 {
            let mut leaves = TcpStream::connect(address).await.unwrap();
            leaves.write_all(b"POST /stock/bolt/take HTTP/1.1\r\n\r\n").await.unwrap();
        }
        let clients: Vec<_> =
            (0..70).map(|_| tokio::spawn(request(address, "POST /stock/bolt/take"))).collect();
        tokio::task::yield_now().await;
        holder.rollback().await.unwrap();
        let (mut sold, mut refused) = (0, 0);
        for client in clients {
            let answer = client.await.unwrap();
            sold += u32::from(answer.starts_with("HTTP/1.1 200"));
            refused += u32::from(answer.starts_with("HTTP/1.1 409"));
        }
        assert_eq!(sold + refused, 70);
        // Those that left have taken something only if their commit was faster.
        assert!((30..=50).contains(&sold), "{sold}");
        assert!(request(address, "GET /stock/bolt").await.ends_with("\r\n\r\n0\n"));
        assert!(request(address, "GET /stock/nut").await.starts_with("HTTP/1.1 404"));
        service.abort();
    });
}
