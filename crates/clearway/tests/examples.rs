//! Runs the programs in `examples/`. Each asserts its own invariants.

#[path = "../examples/bank_transfer.rs"]
#[allow(dead_code)] // its `main` is the example's
mod bank_transfer;

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
