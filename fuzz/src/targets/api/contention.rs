//! Operations that wait for a key which another transaction has locked. Some are dropped before
//! they are finished, and must have had no effect.

use std::sync::atomic::{AtomicU64, Ordering};

use clearway_base::Error;
use clearway_lock::WaitLimit;
use clearway_txn::Kind;

use super::{
    World,
    driven::{Driver, Polled},
    expect, key_of,
};

/// The operations that were dropped while they waited, over all inputs.
static DROPPED: AtomicU64 = AtomicU64::new(0);
/// The operations that waited, and went on when the lock was free.
static GRANTED: AtomicU64 = AtomicU64::new(0);

/// Describes the waits of this process.
pub(crate) fn waits() -> String {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    format!("waits of tasks: {} dropped, {} granted", of(&DROPPED), of(&GRANTED))
}

/// The end of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The operation is dropped while the other transaction holds the lock.
    Dropped,
    /// The operation is dropped when it was granted the lock, and not polled since.
    DroppedWhenGranted,
    Granted,
}

impl World {
    /// Lets the running transaction wait for a key that another task has written, if it holds no
    /// lock on that key itself.
    pub(super) fn contend(&mut self, with: u8) -> Result<(), String> {
        let Some((txn, map)) = &mut self.running else { return Ok(()) };
        let (table, key) = (self.table.clone(), key_of(with));
        let value = vec![with; [5, 300, 9_000][usize::from(with) % 3]];
        let mut rival = self.engine.begin_task(Kind::NONE);
        rival.set_wait_limit(WaitLimit::NoWait);
        match Polled::new(rival.put_as_task(&table, &key, b"of the rival")).poll() {
            Some(Ok(_)) => {}
            Some(Err(Error::WouldBlock { .. } | Error::LogFull { .. })) => return Ok(()),
            other => return Err(format!("put of the rival: {other:?}")),
        }
        let mut put = Polled::new(txn.inner().put_as_task(&table, key.clone(), value.clone()));
        match put.poll() {
            None => {}
            Some(Err(Error::LogFull { .. })) => {
                drop((put, rival));
                return self.give_up();
            }
            other => return Err(format!("put of a locked key: {other:?}")),
        }
        let ends = [End::Dropped, End::DroppedWhenGranted, End::Granted, End::Granted];
        let end = ends[usize::from(with / 3) % ends.len()];
        if end == End::Dropped {
            drop(put);
            DROPPED.fetch_add(1, Ordering::Relaxed);
            drop(rival);
            return self.check_free(&key);
        }
        drop(rival);
        if end == End::DroppedWhenGranted {
            drop(put);
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        match put.poll() {
            Some(Ok(replaced)) if replaced == map.insert(key, value).is_some() => {
                GRANTED.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Some(Err(Error::LogFull { .. })) => {
                drop(put);
                self.give_up()
            }
            other => Err(format!("put of a key that was unlocked: {other:?}")),
        }
    }

    /// Checks that no lock on a key is held or awaited, and that its value is the committed one.
    fn check_free(&self, key: &[u8]) -> Result<(), String> {
        let mut reader = super::DrivenTransaction::begin(&self.engine, Driver::Blocking);
        reader.inner().set_wait_limit(WaitLimit::NoWait);
        let found = reader.get(&self.table, key).map_err(|error| error.to_string())?;
        if found.as_ref() != self.committed.get(key) {
            return Err(format!("after a dropped put, {key:?} is {found:?}"));
        }
        expect(reader.rollback())
    }
}
