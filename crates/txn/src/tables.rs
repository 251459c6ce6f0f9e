//! Tables: the catalogue on disk, the open handles in memory, create and drop.
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
//! Creating: the tree's root is made by a system transaction, then the entry is inserted and made
//! durable, then the handle is given out. A crash in between leaves an unused page.
//!
//! Dropping, in steps a crash may separate:
//!
//! ```text
//!   absolute lock on the table: every user of it has ended
//!   → entry marked `dropping`, durable       from here on the drop will happen
//!   → handle marked dropped: later users get `UnknownTable`
//!   → pages freed, by system transactions    restartable
//!   → entry deleted, durable                 → lock released
//! ```
//!
//! The lock comes first, so that a drop that cannot have it has changed nothing. Opening the
//! database completes every drop that was marked.
//!
//! Latch order: `ddl` (held across a whole create or drop) → the maps' latch (a few instructions).

use std::{
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::Arc,
};

use clearway_base::{Error, PageId, Result, TABLE_NAME_LEN_MAX, TreeId};
use clearway_lock::IntentMode;
use clearway_sync::{
    Mutex, RwLock,
    atomic::{AtomicU32, Ordering},
};
use clearway_tree::{Direction, LeafHint, ReadIntent, Tree};

use crate::{core::Core, finish, slot::Slot, table::Table};

const LIVE: u8 = 1;
const DROPPING: u8 = 2;

/// The tables of an open database.
pub(crate) struct Tables {
    maps: RwLock<Maps>,
    /// The next tree id to give out.
    next_id: AtomicU32,
    /// One create or drop at a time.
    ddl: Mutex<()>,
}

#[derive(Default)]
struct Maps {
    by_name: BTreeMap<String, Table>,
    /// Also holds the catalogue, and tables that are being dropped.
    by_id: HashMap<u32, Table>,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            maps: RwLock::default(),
            next_id: AtomicU32::new(TreeId::CATALOGUE.0 + 1),
            ddl: Mutex::new(()),
        }
    }
}

impl Tables {
    /// Sets the catalogue, once, before anything else is asked.
    pub(crate) fn set_catalogue(&self, catalogue: Table) {
        self.maps.write().by_id.insert(TreeId::CATALOGUE.0, catalogue);
    }

    /// The catalogue, as a table without a name.
    pub(crate) fn catalogue(&self) -> Table {
        self.by_id(TreeId::CATALOGUE).expect("the catalogue is always there")
    }

    pub(crate) fn by_id(&self, id: TreeId) -> Option<Table> {
        self.maps.read().by_id.get(&id.0).cloned()
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<Table> {
        self.maps.read().by_name.get(name).cloned()
    }

    /// Names of the tables, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.maps.read().by_name.keys().cloned().collect()
    }

    /// Every table, by name.
    pub(crate) fn all(&self) -> Vec<Table> {
        self.maps.read().by_name.values().cloned().collect()
    }

    fn publish(&self, table: &Table) {
        let mut maps = self.maps.write();
        maps.by_name.insert(table.name().into(), table.clone());
        maps.by_id.insert(table.id().0, table.clone());
    }

    fn hide(&self, table: &Table) {
        self.maps.write().by_name.remove(table.name());
    }

    fn forget(&self, id: TreeId) {
        self.maps.write().by_id.remove(&id.0);
    }
}

/// A catalogue entry.
struct Entry {
    state: u8,
    tree: TreeId,
    root: PageId,
}

impl Entry {
    fn encode(&self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[0] = self.state;
        bytes[1..5].copy_from_slice(&self.tree.0.to_le_bytes());
        bytes[5..].copy_from_slice(&self.root.0.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Entry> {
        let bytes: &[u8; 9] = bytes
            .try_into()
            .map_err(|_| Error::corrupt("catalogue", "an entry has a wrong length"))?;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let entry = Entry { state: bytes[0], tree: TreeId(word(1)), root: PageId(word(5)) };
        match entry.state {
            LIVE | DROPPING => Ok(entry),
            state => Err(Error::corrupt("catalogue", format!("an entry has the state {state}"))),
        }
    }
}

/// Creates a table; durable when it returns.
pub(crate) fn create(core: &Arc<Core>, name: &str) -> Result<Table> {
    if name.is_empty() || name.len() > TABLE_NAME_LEN_MAX {
        return Err(Error::BadTableName { name: name.into() });
    }
    core.check_open()?;
    let _ddl = core.tables.ddl.lock();
    let mut slot = Slot::begin(core);
    match create_in(&mut slot, name) {
        Ok(tree) => {
            let table = Table::new(name.into(), tree, core.opening);
            // Known by id before the commit: a rollback that fails there still finds its tree.
            core.tables.publish(&table);
            if let Err(error) = commit_durably(slot) {
                core.tables.hide(&table);
                return Err(error);
            }
            Ok(table)
        }
        Err(error) => {
            finish::rollback(slot)?;
            Err(error)
        }
    }
}

fn create_in(slot: &mut Slot, name: &str) -> Result<Tree> {
    let core = slot.core.clone();
    let catalogue = core.tables.catalogue();
    slot.operate(&catalogue, IntentMode::IX, |slot, hint| {
        let (tree, key) = (catalogue.tree(), name.as_bytes());
        if tree.get(slot, hint, key, ReadIntent::Update, &mut Vec::new())? {
            return Err(Error::TableExists { name: name.into() });
        }
        // Relaxed: under `ddl`.
        let id = TreeId(core.tables.next_id.fetch_add(1, Ordering::Relaxed));
        let (pool, space) = (core.pool.clone(), core.space.clone());
        let created = Tree::create(pool, space, id, core.tree_config(), slot)?;
        let entry = Entry { state: LIVE, tree: id, root: created.root() };
        if let Err(error) = tree.insert(slot, hint, key, &entry.encode()) {
            created.destroy(slot)?;
            return Err(error);
        }
        Ok(created)
    })
}

/// Drops a table; durable when it returns.
pub(crate) fn drop(core: &Arc<Core>, name: &str) -> Result<()> {
    core.check_open()?;
    let _ddl = core.tables.ddl.lock();
    let unknown = || Error::UnknownTable { name: name.into() };
    let table = core.tables.by_name(name).ok_or_else(unknown)?;
    let mut holder = Slot::begin(core);
    let result = holder
        .enter(&table, IntentMode::X)
        .and_then(|_| mark_dropping(core, &table))
        .and_then(|()| {
            table.mark_dropped();
            core.tables.hide(&table);
            finish_drop(core, &mut holder, table.name(), table.tree())
        });
    finish::leave(holder);
    result
}

fn mark_dropping(core: &Arc<Core>, table: &Table) -> Result<()> {
    let entry = Entry { state: DROPPING, tree: table.id(), root: table.tree().root() };
    change_catalogue(core, |slot, hint, catalogue| {
        catalogue.update(slot, hint, table.name().as_bytes(), &entry.encode())
    })
}

/// The part of a drop that comes after its mark; the caller makes sure that nobody uses the tree.
fn finish_drop(core: &Arc<Core>, holder: &mut Slot, name: &str, tree: &Tree) -> Result<()> {
    tree.destroy(holder)?;
    change_catalogue(core, |slot, hint, catalogue| catalogue.delete(slot, hint, name.as_bytes()))?;
    core.tables.forget(tree.id());
    Ok(())
}

/// Runs one change of the catalogue as a transaction of its own; durable when it returns.
fn change_catalogue(
    core: &Arc<Core>,
    change: impl FnOnce(&mut Slot, &mut LeafHint, &Tree) -> Result<()>,
) -> Result<()> {
    let catalogue = core.tables.catalogue();
    let mut slot = Slot::begin(core);
    let changed =
        slot.operate(&catalogue, IntentMode::IX, |slot, hint| change(slot, hint, catalogue.tree()));
    match changed {
        Ok(()) => commit_durably(slot),
        Err(error) => {
            finish::rollback(slot)?;
            Err(error)
        }
    }
}

fn commit_durably(slot: Box<Slot>) -> Result<()> {
    let core = slot.core.clone();
    let committed = finish::commit(slot)?;
    core.log.wait_durable(committed.ack)
}

/// Fills the maps from the catalogue. Answers the names of tables whose drop is unfinished.
/// Called while nobody else is in the engine, once before losers are undone (whose trees must be
/// known) and once afterwards.
pub(crate) fn load(core: &Arc<Core>) -> Result<Vec<Table>> {
    let catalogue = core.tables.catalogue();
    let mut slot = Slot::begin(core);
    let mut cursor = catalogue.tree().cursor(
        Bound::Unbounded,
        Bound::Unbounded,
        Direction::Ascending,
        ReadIntent::Read,
    );
    let mut maps = Maps::default();
    let mut dropping = Vec::new();
    let mut last_id = TreeId::CATALOGUE.0;
    maps.by_id.insert(TreeId::CATALOGUE.0, catalogue.clone());
    while let Some((key, value)) = cursor.next(catalogue.tree(), &mut *slot)? {
        let name = String::from_utf8(key)
            .map_err(|_| Error::corrupt("catalogue", "a table's name is not text"))?;
        let entry = Entry::decode(&value)?;
        let (pool, space) = (core.pool.clone(), core.space.clone());
        let tree = Tree::open(pool, space, entry.tree, entry.root, core.tree_config());
        let table = Table::new(name.clone(), tree, core.opening);
        last_id = last_id.max(entry.tree.0);
        maps.by_id.insert(entry.tree.0, table.clone());
        if entry.state == LIVE {
            maps.by_name.insert(name, table);
        } else {
            dropping.push(table);
        }
    }
    finish::leave(slot);
    *core.tables.maps.write() = maps;
    core.tables.next_id.store(last_id + 1, Ordering::Relaxed);
    Ok(dropping)
}

/// Completes the drops that a crash interrupted.
pub(crate) fn resume_drops(core: &Arc<Core>, dropping: &[Table]) -> Result<()> {
    for table in dropping {
        let mut holder = Slot::begin(core);
        let result = finish_drop(core, &mut holder, table.name(), table.tree());
        finish::leave(holder);
        result?;
    }
    Ok(())
}
