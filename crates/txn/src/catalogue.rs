//! Tables: the catalogue on disk; how tables are created and dropped. The open handles are in
//! `tables`.
//!
//! The catalogue is a tree like every other, with the fixed id 1 and its root page in the
//! superblock. It maps a table's name to
//!
//! ```text
//!   state u8 (1 live, 2 dropping) │ tree id u32 │ root page u32        little endian
//! ```
//!
//! and is changed by ordinary transactions, so that a crash leaves an entry whole or absent.
//!
//! Creating, under `ddl`:
//!
//! ```text
//!   tree's root made, by a system transaction    a crash from here on leaves an unreachable page
//!   → entry inserted; tree known by its id       a rollback that fails now still finds it
//!   → entry durable → known by its name          so whatever is done to it is done after that
//! ```
//!
//! Dropping, in steps a crash or a failure may separate:
//!
//! ```text
//!   absolute lock on the table: every user of it has ended (or, after 10 s: refused)
//!   → `ddl` → entry marked `dropping`, durable   from here on the drop will happen
//!   → handle marked dropped, name unknown        later users get `UnknownTable`
//!   → pages freed, by system transactions        restartable
//!   → entry deleted, durable                     → `ddl` and the lock released
//! ```
//!
//! Invariants:
//! - TABLES-1. A table is known by its name only while its entry is live *and durable*.
//! - TABLES-2. The holder of `ddl` waits for no lock of another transaction: a transaction may
//!   create and drop in the middle, and so may wait for `ddl` while others wait for its locks. So
//!   the absolute lock comes before `ddl`, and before the mark: a drop that is not granted the lock
//!   has changed nothing. (There is no intent lock on the catalogue, and its keys are locked only
//!   under `ddl`.)
//! - TABLES-3. An entry marked `dropping` is among the `unfinished` until it is deleted. Its name
//!   can be neither opened nor created, but the next drop or creation of the name takes the drop up
//!   where it stopped, and so does every opening. One that fails again is `DropUnfinished`, and
//!   harms nothing but its name and its pages.
//! - TABLES-4. Tree ids are unique among the entries, and among all tables of one opening. The id
//!   of a dropped table may come again after an opening, when it was the highest. That does no
//!   harm. *Locks, hints, handles* end with the opening. *Redo* repeats history page by page, in
//!   the order of the log, and compares page LSNs, not ids. *Undo* by id concerns losers only, and
//!   none has changed the old table: its mark is logged after the end of every transaction that
//!   used the table (absolute lock), and the new entry after the mark. *Deferred frees* of the
//!   transactions that used it last are completed by the opening before a new table can be created,
//!   or the opening fails.
//!
//! Order: a table's absolute lock → `ddl` (held to the end of a create or drop) → the maps' latch
//! (a few instructions).

use std::{ops::Bound, sync::Arc, time::Duration};

use clearway_base::{
    Error, PageId, Result, TABLE_NAME_LEN_MAX, TreeId,
    failpoint::{self, Failpoint},
};
use clearway_lock::{IntentMode, WaitLimit};
use clearway_tree::{Direction, LeafHint, ReadIntent, Tree};

use crate::{
    finish,
    table::Table,
    tables::Maps,
    transaction_state::{TransactionState, Transactions},
};

/// The longest time that a drop waits for the transactions that use its table: one of them may be
/// the calling thread's own, which would wait for itself for ever.
const DROP_WAIT: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 10 });

const LIVE: u8 = 1;
const DROPPING: u8 = 2;

/// A catalogue entry.
struct CatalogueEntry {
    state: u8,
    tree: TreeId,
    root: PageId,
}

impl CatalogueEntry {
    fn encode(&self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[0] = self.state;
        bytes[1..5].copy_from_slice(&self.tree.0.to_le_bytes());
        bytes[5..].copy_from_slice(&self.root.0.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<CatalogueEntry> {
        let bytes: &[u8; 9] = bytes
            .try_into()
            .map_err(|_| Error::corrupt("catalogue", "an entry has a wrong length"))?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let entry =
            CatalogueEntry { state: bytes[0], tree: TreeId(word(1)), root: PageId(word(5)) };
        match entry.state {
            LIVE | DROPPING => Ok(entry),
            state => Err(Error::corrupt("catalogue", format!("an entry has the state {state}"))),
        }
    }
}

/// Creates a table; durable when it returns.
pub(crate) fn create(transactions: &Arc<Transactions>, name: &str) -> Result<Table> {
    let core = &transactions.core;
    if name.is_empty() || name.len() > TABLE_NAME_LEN_MAX {
        return Err(Error::BadTableName { name: name.into() });
    }
    core.health.check_open()?;
    let _ddl = core.tables.lock_ddl();
    complete_drop(transactions, name)?;
    let mut state = transactions.begin()?;
    let tree = match create_in(&mut state, name) {
        Ok(tree) => tree,
        Err(error) => {
            finish::rollback(state)?;
            return Err(error);
        }
    };
    let table = Table::new(name.into(), tree, core.opening);
    core.tables.know(&table);
    // A failure has stopped the engine: the next opening knows whether there is a table.
    commit_durably(state)?;
    failpoint::pass(Failpoint::TableEntered);
    core.tables.publish(&table);
    Ok(table)
}

fn create_in(state: &mut TransactionState, name: &str) -> Result<Tree> {
    let core = state.core.clone();
    let catalogue = core.tables.catalogue();
    state.operate(&catalogue, IntentMode::IX, |state, hint| {
        let (tree, key) = (catalogue.tree(), name.as_bytes());
        if tree.get(state, hint, key, ReadIntent::Update, &mut Vec::new())? {
            return Err(Error::TableExists { name: name.into() });
        }
        let id = core.tables.next_id();
        let (pool, space) = (core.pool.clone(), core.space.clone());
        let created = Tree::create(pool, space, id, core.tree_config(), state)?;
        failpoint::pass(Failpoint::TableRooted);
        let entry = CatalogueEntry { state: LIVE, tree: id, root: created.root() };
        if let Err(error) = tree.insert(state, hint, key, &entry.encode()) {
            created.destroy(state)?;
            return Err(error);
        }
        Ok(created)
    })
}

/// Drops a table; durable when it returns.
pub(crate) fn drop(transactions: &Arc<Transactions>, name: &str) -> Result<()> {
    let core = &transactions.core;
    core.health.check_open()?;
    let mut holder = transactions.begin()?;
    let limit = core.options.lock.wait_limit.map_or(DROP_WAIT, |limit| limit.min(DROP_WAIT));
    holder.limit = WaitLimit::For(limit);
    let result = drop_for(transactions, &mut holder, name);
    finish::leave(holder);
    result
}

/// Drops a table on behalf of `holder`, which gets the absolute lock.
fn drop_for(
    transactions: &Arc<Transactions>,
    holder: &mut TransactionState,
    name: &str,
) -> Result<()> {
    let core = &transactions.core;
    let unknown = || Error::UnknownTable { name: name.into() };
    let table = core.tables.by_name(name).ok_or_else(unknown);
    // TABLES-2: before `ddl`.
    let entered = table.and_then(|table| holder.enter(&table, IntentMode::X).map(|_| table));
    // The values that its last users have deleted are part of the table.
    finish::finish_deallocations(transactions);
    let _ddl = core.tables.lock_ddl();
    let table = match entered {
        Ok(table) => table,
        // Another drop came first; maybe not to its end.
        Err(Error::UnknownTable { .. }) if complete_drop(transactions, name)? => return Ok(()),
        Err(error) => return Err(error),
    };
    debug_assert!(!table.is_dropped(), "only a holder of the absolute lock drops");
    mark_dropping(transactions, &table)?;
    failpoint::pass(Failpoint::DropMarked);
    table.mark_dropped();
    core.tables.hide(&table);
    finish_drop(transactions, holder, &table)
}

fn mark_dropping(transactions: &Arc<Transactions>, table: &Table) -> Result<()> {
    let entry = CatalogueEntry { state: DROPPING, tree: table.id(), root: table.tree().root() };
    change_catalogue(transactions, |state, hint, catalogue| {
        catalogue.update(state, hint, table.name().as_bytes(), &entry.encode())
    })
}

/// The part of a drop that comes after its mark. No transaction uses the tree: those that did had
/// ended when the absolute lock was granted, and all others see the mark.
fn finish_drop(
    transactions: &Arc<Transactions>,
    state: &mut TransactionState,
    table: &Table,
) -> Result<()> {
    let core = &transactions.core;
    let name = table.name();
    let delete = |state: &mut TransactionState, hint: &mut LeafHint, catalogue: &Tree| {
        catalogue.delete(state, hint, name.as_bytes())
    };
    let destroyed = table.tree().destroy(state);
    failpoint::pass(Failpoint::DropEmptied);
    match destroyed.and_then(|()| change_catalogue(transactions, delete)) {
        Ok(()) => {
            core.tables.forget(table);
            Ok(())
        }
        Err(cause) => {
            core.health.check_open()?;
            Err(Error::DropUnfinished { name: name.into(), cause: Arc::new(cause) })
        }
    }
}

/// Finishes the drop of `name` if one is unfinished (TABLES-3), and returns whether it was. The
/// caller holds `ddl`.
fn complete_drop(transactions: &Arc<Transactions>, name: &str) -> Result<bool> {
    let core = &transactions.core;
    let table = core.tables.unfinished_named(name);
    let Some(table) = table else { return Ok(false) };
    let mut state = transactions.begin()?;
    let result = finish_drop(transactions, &mut state, &table);
    finish::leave(state);
    result.map(|()| true)
}

/// Runs one change of the catalogue as a transaction of its own; durable when it returns.
fn change_catalogue(
    transactions: &Arc<Transactions>,
    change: impl FnOnce(&mut TransactionState, &mut LeafHint, &Tree) -> Result<()>,
) -> Result<()> {
    let catalogue = transactions.core.tables.catalogue();
    let mut state = transactions.begin()?;
    let changed = state
        .operate(&catalogue, IntentMode::IX, |state, hint| change(state, hint, catalogue.tree()));
    match changed {
        Ok(()) => commit_durably(state),
        Err(error) => {
            finish::rollback(state)?;
            Err(error)
        }
    }
}

fn commit_durably(state: Box<TransactionState>) -> Result<()> {
    let core = state.core.clone();
    let committed = finish::commit(state)?;
    core.log.force(committed.ack)
}

/// Fills the maps from the catalogue. Called while no other thread uses the engine, once before
/// losers are undone (whose trees must be known) and once afterwards.
pub(crate) fn load(transactions: &Arc<Transactions>) -> Result<()> {
    let core = &transactions.core;
    let catalogue = core.tables.catalogue();
    let mut state = transactions.begin()?;
    let mut cursor = catalogue.tree().cursor(
        Bound::Unbounded,
        Bound::Unbounded,
        Direction::Ascending,
        ReadIntent::Read,
    );
    let mut maps = Maps::new(catalogue.clone());
    while let Some((key, value)) = cursor.next(catalogue.tree(), &mut *state)? {
        let name = String::from_utf8(key)
            .map_err(|_| Error::corrupt("catalogue", "a table's name is not text"))?;
        let entry = CatalogueEntry::decode(&value)?;
        let (pool, space) = (core.pool.clone(), core.space.clone());
        let tree = Tree::open(pool, space, entry.tree, entry.root, core.tree_config());
        let table = Table::new(name, tree, core.opening);
        maps.add(table, entry.state == LIVE);
    }
    finish::leave(state);
    core.tables.replace(maps);
    Ok(())
}

/// Completes the drops that a crash or a failure interrupted. Returns their number, and the errors
/// that keep the others from completion.
///
/// # Errors
/// What has stopped the engine.
pub(crate) fn resume_drops(transactions: &Arc<Transactions>) -> Result<(u64, Vec<Error>)> {
    let core = &transactions.core;
    let _ddl = core.tables.lock_ddl();
    let (mut resumed, mut unfinished) = (0, Vec::new());
    for name in core.tables.unfinished() {
        match complete_drop(transactions, &name) {
            Ok(_) => resumed += 1,
            Err(error @ Error::DropUnfinished { .. }) => unfinished.push(error),
            Err(error) => return Err(error),
        }
    }
    Ok((resumed, unfinished))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use clearway_disk::MemoryDisk;

    use super::*;
    use crate::{Engine, EngineOptions};

    #[test]
    fn a_drop_gives_up_on_a_transaction_that_does_not_end() {
        let mut options = EngineOptions { background: false, ..EngineOptions::default() };
        options.lock.wait_limit = None;
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let table = engine.create_table("t").unwrap();
        let mut own = engine.begin();
        own.put(&table, b"k", b"v").unwrap();
        let begun = Instant::now();
        let refused = engine.drop_table("t");
        assert!(matches!(refused, Err(Error::LockTimeout { .. })), "{refused:?}");
        assert!(begun.elapsed() >= DROP_WAIT);
        let text = refused.unwrap_err().to_string();
        let expected = "lock not granted within 1 s: exclusive (X) on table \"t\", held by ";
        assert!(text.starts_with(expected), "{text}");
        // Nothing has happened.
        own.put(&table, b"k", b"w").unwrap();
        own.commit().unwrap();
        engine.drop_table("t").unwrap();
    }
}
