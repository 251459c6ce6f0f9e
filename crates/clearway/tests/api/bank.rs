//! Many threads move money while checkpoints run as fast as they can, until the device stops at a
//! random moment. After recovery the books must be balanced, and every acknowledged transfer there.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use clearway::{Database, Error, Options, Result, Table};
use clearway_disk::MemoryDisk;
use clearway_testkit::Random;
use clearway_testkit::bank::{self, Bank, BankTables, BankTransfer};
use clearway_testkit::disk::{Faults, FaultyDisk};
use clearway_workloads::ClearwayTransaction;

/// Few accounts, so that transfers conflict and deadlock.
const ACCOUNTS: u64 = 40;
/// Rows of which many fit on a page, few, or none, so that their values are in overflow pages.
const PADDINGS: [usize; 3] = [0, 92, 1_500];
const THREADS: u64 = 3;
/// The number of seeds, unless `CLEARWAY_SEEDS` says otherwise.
const SEEDS: u64 = 8;

/// Returns options for nodes of a few keys, and a log that checkpoints must truncate.
fn options(disk: Arc<dyn clearway_disk::Disk>) -> Options {
    Options::new().on_disk(disk).cache_size(4 << 20).log_capacity(8 << 20).node_bytes(512)
}

fn tables(db: &Database) -> BankTables<Table> {
    let [account, history] = bank::TABLES.map(|name| db.table(name).unwrap());
    BankTables { account, history }
}

/// Performs a transfer and waits until it is durable.
fn transfer(
    db: &Database,
    bank: Bank,
    tables: &BankTables<Table>,
    transfer: &BankTransfer,
) -> Result<()> {
    db.transact("transfer", |tx| bank.transfer(&mut ClearwayTransaction::new(tx), tables, transfer))
}

/// Performs transfers until the engine stops. Returns the number of those acknowledged.
fn work(db: &Database, bank: Bank, tables: &BankTables<Table>, client: u64, seed: u64) -> u64 {
    let mut random = Random::new(seed * 1000 + client);
    for sequence in 1.. {
        match transfer(db, bank, tables, &bank.draw(&mut random, client, sequence)) {
            Ok(()) => {}
            Err(Error::Poisoned { .. } | Error::OutcomeUnknown { .. } | Error::Io { .. }) => {
                return sequence - 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("there is always another transfer")
}

/// Reads all balances until the engine stops.
fn audit(db: &Database, tables: &BankTables<Table>) {
    let audit = || {
        let audited = db.transact("audit", |tx| {
            bank::audit(&mut ClearwayTransaction::new(tx), &tables.account)
        });
        assert!(!matches!(audited, Err(Error::Aborted { .. })), "{audited:?}");
        audited.is_ok()
    };
    while audit() {}
}

fn run(seed: u64) {
    println!("seed {seed}");
    let bank = Bank { accounts: ACCOUNTS, padding: PADDINGS[seed as usize / 2 % PADDINGS.len()] };
    let memory = MemoryDisk::with_crashes();
    let (faults, frozen) = (Faults::new(), Arc::new(AtomicBool::new(false)));
    let stop = frozen.clone();
    faults.watch(move |_| stop.load(Ordering::SeqCst).then_some(std::io::ErrorKind::Other));
    let disk = Arc::new(FaultyDisk::new(memory.clone(), faults));
    // Checkpoints one after the other, which clean everything; or every few kilobytes in the
    // background, which clean what is old.
    let eager = seed.is_multiple_of(2);
    let every = if eager { 1 << 20 } else { 16 << 10 };
    let db = options(disk).checkpoint_every(every).open("bank").unwrap();
    let books = tables(&db);
    let acknowledged: Vec<u64> = thread::scope(|scope| {
        let (db, books) = (&db, &books);
        let clients: Vec<_> = (0..THREADS)
            .map(|client| scope.spawn(move || work(db, bank, books, client, seed)))
            .collect();
        scope.spawn(move || audit(db, books));
        if eager {
            scope.spawn(|| while db.checkpoint().is_ok() {});
        }
        thread::sleep(Duration::from_millis(80 + seed * 17 % 60));
        frozen.store(true, Ordering::SeqCst);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(db.stats().engine.checkpoints > 0);
    drop((db, books));

    let db = options(Arc::new(memory.fork_durable())).open("bank").unwrap();
    db.verify().unwrap();
    let books = tables(&db);
    let rows = |table: &Table| {
        let rows = db.transact("rows", |tx| tx.scan(table, ..).collect::<Result<Vec<_>>>());
        rows.unwrap()
    };
    let last = bank::check(rows(&books.account), rows(&books.history));
    let last = last.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
    for (client, acknowledged) in (0..).zip(acknowledged) {
        let found = last.get(&client).copied().unwrap_or(0);
        assert!(found >= acknowledged, "seed {seed}, client {client}: {found} < {acknowledged}");
    }
}

#[test]
fn books_balance_after_a_crash_under_load() {
    let wanted = std::env::var("CLEARWAY_SEEDS").ok().and_then(|text| text.parse().ok());
    (0..wanted.unwrap_or(SEEDS)).for_each(run);
}
