//! Tasks beside threads that block: they wait for the same locks, and what tasks drop is undone.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use clearway_sync::{
    block_on,
    schedules::{check, random},
};
use clearway_testkit::polled_once;
use clearway_txn::Kind;

use super::*;

/// The amounts of the transfers from "a" to "b", modulo 256: of the two tasks and of the thread.
const AMOUNTS: [u8; 3] = [1, 254, 4];

/// The keys in the order in which a transfer locks them. The second task takes the other order.
fn order(n: usize) -> [&'static [u8]; 2] {
    if n == 1 { [b"b", b"a"] } else { [b"a", b"b"] }
}

fn after(key: &[u8], balance: &[u8], amount: u8) -> [u8; 1] {
    [if key == b"a" { balance[0].wrapping_sub(amount) } else { balance[0].wrapping_add(amount) }]
}

/// The parts of its first attempt that a task drops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drops {
    Nothing,
    /// Each operation that waits; it is requested again.
    Operations,
    /// The transaction, with the operation that waits first, or after its last operation.
    Transaction,
}

/// One attempt of a task's transfer. Returns false if it dropped its transaction.
async fn attempt(engine: &Arc<Engine>, table: &Table, n: usize, drops: Drops) -> Result<bool> {
    let mut txn = engine.begin_task(Kind::NONE);
    txn.set_wait_limit(WaitLimit::Forever);
    for key in order(n) {
        let intent = ReadIntent::Update;
        let read = match drops {
            Drops::Nothing => txn.get_as_task(table, key, intent).await?,
            _ => match polled_once(txn.get_as_task(table, key, intent)).await {
                Some(read) => read?,
                None if drops == Drops::Transaction => return Ok(false),
                None => txn.get_as_task(table, key, intent).await?,
            },
        };
        let balance = read.expect("an account");
        txn.put_as_task(table, key, after(key, &balance, AMOUNTS[n])).await?;
    }
    if drops == Drops::Transaction {
        return Ok(false);
    }
    let committed = txn.commit_as_task().await?;
    poll_fn(|cx| engine.log().poll_durable(committed.ack, cx)).await?;
    Ok(true)
}

/// The transfer of a task, repeated until it is committed.
async fn transfer(engine: Arc<Engine>, table: Table, n: usize) {
    let mut drops = [Drops::Nothing, Drops::Operations, Drops::Transaction][random(3) as usize];
    loop {
        match attempt(&engine, &table, n, drops).await {
            Ok(true) => return,
            Ok(false) => drops = Drops::Nothing,
            Err(Error::Deadlock { .. }) => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Runs two tasks on this thread, each of which may wake it.
async fn both(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let mut are_ready = [false; 2];
    poll_fn(|cx| {
        are_ready[0] = are_ready[0] || one.as_mut().poll(cx).is_ready();
        are_ready[1] = are_ready[1] || other.as_mut().poll(cx).is_ready();
        if are_ready == [true; 2] { Poll::Ready(()) } else { Poll::Pending }
    })
    .await
}

/// Two tasks, on one thread or on two, and a thread that blocks move amounts between two rows, in
/// both orders. Operations and transactions are dropped while they wait. Each transfer takes place
/// once. Nothing has a time limit, so a wake-up or a deadlock that is missed, or a lock that stays,
/// is a hang.
fn transfers(background: bool) {
    let (_disk, engine, table) = start(EngineOptions { background, ..options() });
    transact(&engine, |txn| txn.put(&table, b"a", &[100])).unwrap();
    transact(&engine, |txn| txn.put(&table, b"b", &[100])).unwrap();
    let is_one_thread = random(2) == 0;
    let run = {
        let (engine, table) = (engine.clone(), table.clone());
        move |n: u64| {
            let task = |n| transfer(engine.clone(), table.clone(), n);
            match n {
                0 if is_one_thread => block_on(both(task(0), task(1))),
                1 if is_one_thread => {}
                0 | 1 => block_on(task(n as usize)),
                _ => transact(&engine, |txn| {
                    for key in order(2) {
                        let balance = txn.get_for_update(&table, key)?.expect("an account");
                        txn.put(&table, key, &after(key, &balance, AMOUNTS[2]))?;
                    }
                    Ok(())
                })
                .unwrap(),
            }
        }
    };
    on_threads(3, run);
    let moved = AMOUNTS.iter().fold(0u8, |sum, amount| sum.wrapping_add(*amount));
    let (a, b) = (100u8.wrapping_sub(moved), 100u8.wrapping_add(moved));
    let found = contents(&engine, &table);
    assert_eq!(found, Contents::from([(b"a".to_vec(), vec![a]), (b"b".to_vec(), vec![b])]));
    engine.close().unwrap();
    assert_eq!(engine.stats().active, 0, "what was dropped is rolled back");
}

#[test]
fn tasks_and_a_thread_change_the_same_rows() {
    check("tasks and a thread", 800, || transfers(false));
}

/// Rollbacks are handed over to a thread of the engine.
#[test]
fn tasks_and_a_thread_change_the_same_rows_beside_the_engines_threads() {
    check("tasks and a thread, with background", 200, || transfers(true));
}
