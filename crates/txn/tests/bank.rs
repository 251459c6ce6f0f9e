//! Many threads move money while checkpoints run as fast as they can, until the device stops at a
//! random moment. After recovery the books must be balanced, and every acknowledged transfer there.

mod rig;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clearway_base::{Error, Result};
use clearway_disk::MemoryDisk;
use clearway_testkit::Random;
use clearway_testkit::disk::{Faults, FaultyDisk};
use clearway_txn::{Engine, EngineOptions, Table};

use rig::{check, contents, open, open_with, options, seeds};

const ACCOUNTS: u64 = 40;
const THREADS: u64 = 3;

fn balance(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes.try_into().unwrap())
}

fn account(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// One transfer, and a line of history with what it was.
fn transfer(
    engine: &Arc<Engine>,
    tables: &[Table; 2],
    key: &[u8],
    random: &mut Random,
) -> Result<()> {
    let mut txn = engine.begin();
    let savepoint = txn.savepoint()?;
    // It may change its mind half way, and begin again.
    let line = loop {
        let (from, to, amount) =
            (random.below(ACCOUNTS), random.below(ACCOUNTS), random.below(100) as i64);
        for (number, change) in [(from, -amount), (to, amount)] {
            let old = txn.get_for_update(&tables[0], &account(number))?.map_or(0, |b| balance(&b));
            txn.put(&tables[0], &account(number), &(old + change).to_le_bytes())?;
        }
        if random.below(10) > 0 {
            break [from.to_le_bytes(), to.to_le_bytes(), amount.to_le_bytes()].concat();
        }
        txn.rollback_to(&savepoint)?;
    };
    txn.insert(&tables[1], key, &line)?;
    let ack = txn.commit()?.ack;
    engine.log().wait_durable(ack)
}

/// Transfers until the engine stops. Answers how many were acknowledged.
fn work(engine: &Arc<Engine>, tables: &[Table; 2], thread: u64, seed: u64) -> u64 {
    let mut random = Random::new(seed * 1000 + thread);
    let mut n = 0u64;
    loop {
        let key = [thread.to_be_bytes(), n.to_be_bytes()].concat();
        match transfer(engine, tables, &key, &mut random) {
            Ok(()) => n += 1,
            Err(Error::Deadlock { .. }) => {}
            Err(Error::Poisoned { .. } | Error::OutcomeUnknown { .. } | Error::Io { .. }) => {
                return n;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn run(seed: u64) {
    println!("seed {seed}");
    let memory = MemoryDisk::with_crashes();
    let (faults, frozen) = (Faults::new(), Arc::new(AtomicBool::new(false)));
    let stop = frozen.clone();
    faults.watch(move |_| stop.load(Ordering::SeqCst).then_some(std::io::ErrorKind::Other));
    let disk = FaultyDisk::new(memory.clone(), faults);
    // Checkpoints as fast as they come, which clean everything; or every few kilobytes in the
    // background, which clean what is old.
    let eager = seed.is_multiple_of(2);
    let options = EngineOptions { background: !eager, checkpoint_log_bytes: 16 << 10, ..options() };
    let engine = open_with(disk, options);
    let tables = ["accounts", "history"].map(|name| engine.create_table(name).unwrap());
    let acknowledged: Vec<u64> = std::thread::scope(|scope| {
        let (engine, tables) = (&engine, &tables);
        let workers: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(engine, tables, thread, seed)))
            .collect();
        if eager {
            scope.spawn(|| while engine.checkpoint().is_ok() {});
        }
        std::thread::sleep(Duration::from_millis(80 + seed * 17 % 60));
        frozen.store(true, Ordering::SeqCst);
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert!(engine.stats().checkpoints > 0);
    drop(engine);

    let recovered = open(&memory.fork_durable());
    check(&recovered);
    let accounts = contents(&recovered, &recovered.open_table("accounts").unwrap());
    let history = contents(&recovered, &recovered.open_table("history").unwrap());
    let mut expected = vec![0i64; ACCOUNTS as usize];
    let mut lines = vec![0u64; THREADS as usize];
    for (key, line) in &history {
        let word = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
        let thread = word(&key[..8]) as usize;
        assert_eq!(word(&key[8..]), lines[thread], "a transfer is missing in the middle");
        lines[thread] += 1;
        let amount = balance(&line[16..]);
        expected[balance(&line[..8]) as usize] -= amount;
        expected[balance(&line[8..16]) as usize] += amount;
    }
    for (thread, (found, acknowledged)) in lines.iter().zip(&acknowledged).enumerate() {
        assert!(found >= acknowledged, "seed {seed}, thread {thread}: {found} < {acknowledged}");
    }
    for (number, expected) in expected.iter().enumerate() {
        let found = accounts.get(&account(number as u64)[..]).map_or(0, |bytes| balance(bytes));
        assert_eq!(found, *expected, "seed {seed}, account {number}");
    }
}

#[test]
fn books_balance_after_a_crash_under_load() {
    seeds(8).for_each(run);
}
