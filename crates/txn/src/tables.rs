//! The open handles of tables, in memory. The catalogue on disk is in `catalogue`.

use std::collections::{BTreeMap, HashMap};

use clearway_base::TreeId;
use clearway_sync::{
    Mutex, MutexGuard, RwLock,
    atomic::{AtomicU32, Ordering},
};

use crate::table::Table;

/// The tables of an open database.
pub(crate) struct Tables {
    maps: RwLock<Maps>,
    /// The next tree id to give out.
    next_id: AtomicU32,
    /// One create or drop at a time.
    ddl: Mutex<()>,
}

/// The handles by name and by id. The labels refer to `catalogue`.
#[derive(Default)]
pub(crate) struct Maps {
    /// TABLES-1.
    by_name: BTreeMap<String, Table>,
    /// TABLES-3.
    unfinished: BTreeMap<String, Table>,
    /// Also holds the catalogue, tables that are being created, and the unfinished.
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

    /// Names of the tables whose drop is unfinished, in order.
    pub(crate) fn unfinished(&self) -> Vec<String> {
        self.maps.read().unfinished.keys().cloned().collect()
    }

    /// Returns the table of this name whose drop is unfinished.
    pub(crate) fn unfinished_named(&self, name: &str) -> Option<Table> {
        self.maps.read().unfinished.get(name).cloned()
    }

    /// Begins a create or a drop; none other runs until the result is dropped (TABLES-2).
    pub(crate) fn lock_ddl(&self) -> MutexGuard<'_, ()> {
        self.ddl.lock()
    }

    /// Returns an id that no table of this opening has (TABLES-4). The caller has `ddl`.
    pub(crate) fn next_id(&self) -> TreeId {
        // Relaxed: under `ddl`.
        TreeId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Replaces all handles by those that were read from the catalogue. Called while no other
    /// thread uses the engine.
    pub(crate) fn replace(&self, maps: Maps) {
        let last = maps.by_id.keys().max().map_or(TreeId::CATALOGUE.0, |last| *last);
        *self.maps.write() = maps;
        self.next_id.store(last + 1, Ordering::Relaxed);
    }

    /// Makes a table known by its id.
    pub(crate) fn know(&self, table: &Table) {
        self.maps.write().by_id.insert(table.id().0, table.clone());
    }

    /// Makes a table known by its name (TABLES-1).
    pub(crate) fn publish(&self, table: &Table) {
        self.maps.write().by_name.insert(table.name().into(), table.clone());
    }

    /// The table's drop has begun (TABLES-3).
    pub(crate) fn hide(&self, table: &Table) {
        let mut maps = self.maps.write();
        maps.by_name.remove(table.name());
        maps.unfinished.insert(table.name().into(), table.clone());
    }

    /// The table's drop is complete.
    pub(crate) fn forget(&self, table: &Table) {
        let mut maps = self.maps.write();
        maps.unfinished.remove(table.name());
        maps.by_id.remove(&table.id().0);
    }
}

impl Maps {
    /// The handle of the catalogue, and no other.
    pub(crate) fn new(catalogue: Table) -> Maps {
        let mut maps = Maps::default();
        maps.by_id.insert(TreeId::CATALOGUE.0, catalogue);
        maps
    }

    /// Adds a table, or, unless it `is_live`, one whose drop is unfinished.
    pub(crate) fn add(&mut self, table: Table, is_live: bool) {
        let name = table.name().into();
        self.by_id.insert(table.id().0, table.clone());
        if is_live {
            self.by_name.insert(name, table);
        } else {
            table.mark_dropped();
            self.unfinished.insert(name, table);
        }
    }
}
