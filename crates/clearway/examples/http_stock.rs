//! A small HTTP service over a database, on tokio: many connections, two threads, and no thread
//! that waits for a lock, a page or a flush.
//!
//! | request | answer |
//! | --- | --- |
//! | `GET /stock/ITEM` | the number in stock |
//! | `PUT /stock/ITEM/COUNT` | sets the number |
//! | `POST /stock/ITEM/take` | takes one: 200 with the rest, or 409 if there is none |
//!
//! If a client closes its connection while its request waits, the future of the transaction is
//! dropped, and the transaction is rolled back. It speaks as much of HTTP as `curl` needs: one
//! request for each connection, without a body.
//!
//! `cargo run --release -p clearway --example http_stock [DIRECTORY [ADDRESS]]`

use clearway::{Database, Error, Options, Result, Table};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// The longest request head that is read.
const HEAD_BYTES_MAX: usize = 8 << 10;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let db = match arguments.next() {
        Some(directory) => Database::open(directory),
        None => Options::in_memory().cache_size(16 << 20).open("stock"),
    };
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".into());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        serve(db.map_err(std::io::Error::other)?, listener).await
    })
}

/// Serves connections until the listener fails.
pub(crate) async fn serve(db: Database, listener: TcpListener) -> std::io::Result<()> {
    let stock = db.table("stock").map_err(std::io::Error::other)?;
    loop {
        let (connection, _) = listener.accept().await?;
        let (db, stock) = (db.clone(), stock.clone());
        tokio::spawn(async move {
            // A client that has gone needs no answer.
            let _ = answer(&db, &stock, connection).await;
        });
    }
}

/// Reads one request and answers it.
async fn answer(db: &Database, stock: &Table, mut connection: TcpStream) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        if connection.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    let line = String::from_utf8_lossy(&head);
    let words: Vec<&str> = line.lines().next().unwrap_or_default().split(' ').collect();
    let handled = async {
        match words[..] {
            [method, path, ..] => handle(db, stock, method, path).await,
            _ => Ok((400, "bad request".into())),
        }
    };
    // The transaction is dropped if the client goes away meanwhile.
    let (status, body) = tokio::select! {
        handled = handled => handled.unwrap_or_else(|error| (500, error.to_string())),
        () = closed(&connection) => return Ok(()),
    };
    let answer = format!(
        "HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}\n",
        body.len() + 1
    );
    connection.write_all(answer.as_bytes()).await
}

/// Ends when the client has closed its side.
async fn closed(connection: &TcpStream) {
    let mut rest = [0; 512];
    loop {
        if connection.readable().await.is_err() {
            return;
        }
        match connection.try_read(&mut rest) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

/// Runs the transaction of a request. Returns status and body.
async fn handle(db: &Database, stock: &Table, method: &str, path: &str) -> Result<(u16, String)> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (method, &parts[..]) {
        ("GET", ["stock", item]) => {
            let count = db.transact_async("get", async |mut tx| tx.get(stock, item).await).await?;
            Ok(count.map_or((404, "unknown".into()), |count| (200, number(&count).to_string())))
        }
        ("PUT", ["stock", item, count]) => {
            let Ok(count) = count.parse::<u64>() else { return Ok((400, "no number".into())) };
            let put = async |mut tx: clearway::LentTransaction| {
                tx.put(stock, item, count.to_be_bytes()).await
            };
            db.transact_async("put", put).await?;
            Ok((200, count.to_string()))
        }
        ("POST", ["stock", item, "take"]) => take(db, stock, item).await,
        _ => Ok((404, "unknown".into())),
    }
}

async fn take(db: &Database, stock: &Table, item: &str) -> Result<(u16, String)> {
    let taken = db
        .transact_async("take", async |mut tx| {
            let count = tx.get_for_update(stock, item).await?.ok_or_else(Error::not_found)?;
            let Some(rest) = number(&count).checked_sub(1) else { return tx.abort("sold out") };
            tx.put(stock, item, rest.to_be_bytes()).await?;
            Ok(rest)
        })
        .await;
    match taken {
        Ok(rest) => Ok((200, rest.to_string())),
        Err(Error::Aborted { reason }) => Ok((409, reason)),
        Err(Error::NotFound { .. }) => Ok((404, "unknown".into())),
        Err(error) => Err(error),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.first_chunk().copied().map_or(0, u64::from_be_bytes)
}
