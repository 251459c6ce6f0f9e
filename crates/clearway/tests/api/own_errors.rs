//! Closures that return errors of the program, and closures that need no annotation.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use clearway::{
    Database, Error, ErrorKind, LentTransaction, Options, PipelineOptions, Result, Table,
    Transaction,
};
use clearway_disk::MemoryDisk;
use clearway_sync::block_on;
use clearway_testkit::{Random, disk::DelayedDisk};

#[derive(Clone, PartialEq, Eq, Debug)]
enum ShopError {
    SoldOut { left: u64 },
    Database(ErrorKind),
    Hidden,
}

impl From<Error> for ShopError {
    fn from(error: Error) -> ShopError {
        ShopError::Database(error.kind())
    }
}

fn database() -> (Database, Table) {
    let db = Options::in_memory().cache_size(8 << 20).open("shop").unwrap();
    let stock = db.table("stock").unwrap();
    db.transact("fill", |tx| tx.put(&stock, "bolt", 7u64.to_be_bytes())).unwrap();
    (db, stock)
}

fn number(row: &[u8]) -> u64 {
    u64::from_be_bytes(row.try_into().unwrap())
}

fn take(tx: &mut Transaction, stock: &Table, count: u64) -> std::result::Result<u64, ShopError> {
    tx.put(stock, "log", "taken")?;
    let left = tx.get_with(stock, "bolt", number)?.unwrap_or(0);
    let after = left.checked_sub(count).ok_or(ShopError::SoldOut { left })?;
    tx.put(stock, "bolt", after.to_be_bytes())?;
    Ok(after)
}

async fn take_as_task(
    mut tx: LentTransaction,
    stock: Table,
    count: u64,
) -> std::result::Result<u64, ShopError> {
    tx.put(&stock, "log", "taken").await?;
    let left = tx.get(&stock, "bolt").await?.map_or(0, |row| number(&row));
    let after = left.checked_sub(count).ok_or(ShopError::SoldOut { left })?;
    tx.put(&stock, "bolt", after.to_be_bytes()).await?;
    Ok(after)
}

type Taken = std::result::Result<u64, ShopError>;

/// Takes bolts with a transaction that is run by each of the calls.
fn take_by(call: usize, db: &Database, stock: &Table, count: u64) -> Taken {
    let pipeline = PipelineOptions::new().agents(1).start(db).unwrap();
    let (owned, (sender, receiver)) = (stock.clone(), mpsc::channel());
    let done = move |result: Taken| sender.send(result).unwrap();
    let closure = move |tx: &mut Transaction| take(tx, &owned, count);
    let owned = stock.clone();
    let task = async move |tx: LentTransaction| take_as_task(tx, owned.clone(), count).await;
    match call {
        0 => db.try_transact("take", closure),
        1 => db.try_submit("take", closure)?.wait(),
        2 => block_on(db.try_submit("take", closure)?),
        3 => block_on(db.try_transact_async("take", |tx| take_as_task(tx, stock.clone(), count))),
        4 => block_on(db.try_submit_async("take", |tx| take_as_task(tx, stock.clone(), count)))?
            .wait(),
        5 => db.try_spawn("take", task)?.wait(),
        6 => pipeline.try_submit("take", closure)?.wait(),
        7 => pipeline.try_submit_async("take", task)?.wait(),
        8 => {
            pipeline.try_submit_then("take", closure, done)?;
            receiver.recv().unwrap()
        }
        _ => {
            pipeline.try_submit_async_then("take", task, done)?;
            receiver.recv().unwrap()
        }
    }
}

#[test]
fn own_errors_roll_back_and_come_out_of_every_call() {
    for call in 0..10 {
        let (db, stock) = database();
        assert_eq!(take_by(call, &db, &stock, 8), Err(ShopError::SoldOut { left: 7 }));
        assert_eq!(db.transact("read", |tx| tx.get(&stock, "log")).unwrap(), None, "rolled back");
        assert_eq!(take_by(call, &db, &stock, 3), Ok(4));
        db.drop_table("stock").unwrap();
        let unknown = ShopError::Database(ErrorKind::UnknownTable);
        assert_eq!(take_by(call, &db, &stock, 1), Err(unknown), "call {call}");
    }
}

#[test]
fn closure_that_turns_a_conflict_into_its_own_error_is_run_again() {
    let db = Options::in_memory().cache_size(8 << 20).open("bank").unwrap();
    let accounts = db.table("accounts").unwrap();
    let fill = |tx: &mut Transaction| {
        (0..4u8).try_for_each(|n| tx.put(&accounts, [n], 1_000u64.to_be_bytes()))
    };
    db.transact("fill", fill).unwrap();
    let add = |tx: &mut Transaction, account: u64, amount: u64| {
        let key = [account as u8];
        let balance = tx.get_for_update(&accounts, key).map_err(|_| ShopError::Hidden)?.unwrap();
        let balance = number(&balance).wrapping_add(amount);
        tx.put(&accounts, key, balance.to_be_bytes()).map_err(|_| ShopError::Hidden)
    };
    thread::scope(|threads| {
        for seed in 0..4 {
            let db = &db;
            threads.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..300 {
                    let from = random.below(4);
                    let to = (from + 1 + random.below(3)) % 4;
                    let transfer = |tx: &mut Transaction| {
                        add(tx, from, 1u64.wrapping_neg())?;
                        thread::yield_now();
                        add(tx, to, 1)
                    };
                    db.try_transact("transfer", transfer).unwrap();
                }
            });
        }
    });
    let stats = db.type_stats().into_iter().find(|stats| stats.name == "transfer").unwrap();
    assert!(stats.retries > 0 && stats.commits == 1_200, "{stats:?}");
    let sum = db.transact("sum", |tx| {
        tx.scan(&accounts, ..).map(|entry| Ok(number(&entry?.1))).sum::<Result<u64>>()
    });
    assert_eq!(sum.unwrap(), 4_000);
}

#[test]
fn own_error_is_withheld_until_what_it_may_reveal_is_durable() {
    let disk = Arc::new(DelayedDisk::new(MemoryDisk::new(), Duration::from_millis(50)));
    let db = Options::new().cache_size(8 << 20).on_disk(disk).open("slow").unwrap();
    let stock = db.table("stock").unwrap();
    let written = db.submit("write", |tx| tx.put(&stock, "bolt", 3u64.to_be_bytes())).unwrap();
    let refused = db.try_submit("take", |tx| take(tx, &stock, 8));
    match refused {
        Ok(pending) => {
            assert_eq!(pending.wait(), Err(ShopError::SoldOut { left: 3 }));
            assert!(written.is_ready(), "it was delivered before it was durable");
        }
        Err(error) => {
            assert!(written.is_ready(), "it was returned before it was durable");
            assert_eq!(error, ShopError::SoldOut { left: 3 });
        }
    }
}

/// An error to which no error of the engine can be converted.
#[derive(Debug)]
struct Panics;

impl From<Error> for Panics {
    fn from(error: Error) -> Panics {
        panic!("there is no conversion for {error}")
    }
}

#[test]
fn conversion_that_panics_ends_neither_the_agent_nor_the_wait() {
    let (db, stock) = database();
    let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
    for _ in 0..3 {
        let owned = stock.clone();
        let fails = move |tx: &mut Transaction| -> std::result::Result<(), Panics> {
            tx.insert(&owned, "bolt", "present")?;
            Ok(())
        };
        let ticket = pipeline.try_submit("panics", fails).unwrap();
        // The conversion panics within the closure: the panic's own error cannot be converted.
        assert!(catch_unwind(AssertUnwindSafe(|| ticket.wait())).is_err());
        let owned = stock.clone();
        let fails = async move |mut tx: LentTransaction| -> std::result::Result<(), Panics> {
            tx.insert(&owned, "bolt", "present").await?;
            Ok(())
        };
        let ticket = pipeline.try_submit_async("panics", fails).unwrap();
        assert!(catch_unwind(AssertUnwindSafe(|| ticket.wait())).is_err());
        let owned = stock.clone();
        let read = pipeline.submit("read", move |tx| tx.contains_key(&owned, "bolt")).unwrap();
        assert!(read.wait().unwrap());
    }
    pipeline.close();
    assert_eq!(db.stats().engine.active, 0);
}

/// Closures of `transact` need no annotation: their error is the engine's.
#[test]
fn closures_without_annotation_compile() {
    let (db, stock) = database();
    let seen = Mutex::new(0);
    db.transact("1", |_| Ok(())).unwrap();
    db.transact("2", |tx| tx.get(&stock, "bolt")).unwrap();
    db.transact("3", |tx| tx.put(&stock, "nut", "1")).unwrap();
    db.transact("4", |tx| Ok(tx.get(&stock, "bolt")?.map(|row| row.len()))).unwrap();
    db.transact("5", |tx| {
        let row = tx.get(&stock, "bolt")?.ok_or_else(Error::not_found)?;
        *seen.lock().unwrap() += row.len();
        Ok(row)
    })
    .unwrap();
    db.transact("6", |tx| tx.scan(&stock, ..).collect::<Result<Vec<_>>>()).unwrap();
    db.transact("7", |tx| (0..3u8).try_for_each(|n| tx.put(&stock, [n], [n]))).unwrap();
    db.transact("8", |tx| if tx.contains_key(&stock, "x")? { tx.abort("x") } else { Ok(1) })
        .unwrap();
    db.submit("9", |tx| tx.count(&stock, ..)).unwrap().wait().unwrap();
    let pipeline = PipelineOptions::new().agents(1).start(&db).unwrap();
    let owned = stock.clone();
    pipeline.submit("10", move |tx| tx.take(&owned, "nut")).unwrap().wait().unwrap();
    block_on(db.transact_async("11", async |mut tx| {
        tx.put(&stock, "washer", "1").await?;
        tx.count(&stock, ..).await
    }))
    .unwrap();
    let owned = stock.clone();
    db.spawn("12", async move |mut tx| tx.get(&owned, "washer").await).unwrap().wait().unwrap();
    assert_eq!(*seen.lock().unwrap(), 8);
}
