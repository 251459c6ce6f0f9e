//! Upkeep: ghosts are reclaimed, sparse leaves merged, foster children adopted, in the background;
//! and the values are freed whose freeing transactions deferred until their commit (FINISH-5).
//!
//! A delete, or the undo of an insert, leaves a ghost, which can be removed once no transaction
//! holds or awaits a lock on it. The tree reports the leaf to its transaction, and the transaction
//! to the [queue](crate::upkeep_queue) when it ends. A leaf is reported by
//!
//! - the delete, or the undo of an insert, that leaves its first ghost; at recovery, by the undo of
//!   a loser;
//! - the split that moves ghosts to it, and the merge that leaves ghosts in it: each leaf with a
//!   ghost is reported under its own low fence;
//! - the write of a shorter value that makes it sparse;
//! - the write that could not make an adoption on the path to it;
//! - the cursor that passes it, if it is empty or at least half of its records are ghosts.
//!
//! An opening marks all tables for a walk if the database was not closed in order, if upkeep was
//! not idle when it was closed, or if an older program has used it since.
//!
//! A leaf is visited a second after its first report. By then, deletions all over a table have left
//! several ghosts in it. It is visited sooner if it is reported again: that happens when more than
//! half of its records are ghosts, and once more when all are. (Measured on 2026-11-22, two loaded
//! cores: deletes in random order, one in a transaction, took 2.3 times as long with visits 100 ms
//! after the first report as without any visits; with visits after a second, as long as without.)
//!
//! A point read reports nothing: it costs the same with ghosts around its key as without.
//!
//! Invariants
//! - UPKEEP-1. Each leaf with a ghost is in the queue under its low fence, or a thread visits it,
//!   or a transaction that still runs has reported it, or its whole table is marked. So once
//!   upkeep is idle and no transaction runs, there is no ghost.
//! - UPKEEP-2. A visit waits for no lock. It has finished a leaf only if no ghost is left there;
//!   otherwise, and after any error, the leaf is visited again, after a delay that grows.
//! - UPKEEP-3. The superblock says that upkeep is done only if none was pending when no transaction
//!   could run any more. An opening takes that back before it writes any log.
//!
//! A visit only tries the latches of neighbours and parents, and omits the work for which one is
//! taken. So a leaf that is still sparse then, or still has a foster child on its path, is visited
//! once more. After that it is left alone until it is reported again; the next write whose descent
//! meets the foster child adopts it, or reports it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Error, Result, TreeId};
use clearway_lock::{IntentMode, WaitLimit};
use clearway_tree::{LeafSurvey, Tree};

use crate::{
    core::Core,
    finish,
    superblock::Superblock,
    transaction_state::{TransactionState, Transactions},
    upkeep_queue::{LeafKey, Stretch, UpkeepWork},
};

/// The number of visits after which a leaf without ghosts is left alone, although it could not be
/// merged or a foster child could not be adopted.
const VISITS: u32 = 2;
/// Leaves that a walk looks at in one stretch. With [`LeafSurvey`] alone that is some microseconds
/// if they are in memory, and 32 reads if not.
const STRETCH_LEAVES: usize = 32;
/// The time that a close spends on leaves that wait for a visit. If none is left then, the next
/// opening need not walk all tables.
const CLOSING_BUDGET: Duration = Duration::from_millis(100);

/// The background thread.
pub(crate) fn run(transactions: &Arc<Transactions>) {
    let core = &transactions.core;
    while let Some(work) = core.upkeep.next() {
        // What fails stays pending (UPKEEP-2); a failed disk stops the engine in other ways.
        let _ = match work {
            UpkeepWork::Visit(leaf, visits) => visit(transactions, leaf, visits),
            UpkeepWork::Walk(tree, from) => walk(transactions, tree, from).map(drop),
            UpkeepWork::Deallocate => {
                finish::free_next(transactions);
                Ok(())
            }
        };
    }
}

/// Does what is pending, due or not, each leaf and each table once.
pub(crate) fn visit_all(transactions: &Arc<Transactions>) -> Result<()> {
    finish::finish_deallocations(transactions);
    let core = &transactions.core;
    let mut result = Ok(());
    for (leaf, visits) in core.upkeep.take_leaves() {
        result = result.and(visit(transactions, leaf, visits));
    }
    let mut done = None;
    while let Some((tree, from)) = core.upkeep.take_walk(done) {
        match walk(transactions, tree, from) {
            Ok(false) => {}
            walked => {
                done = Some(tree);
                result = result.and(walked.map(drop));
            }
        }
    }
    result
}

/// Visits the leaves that wait, before the engine closes, for at most [`CLOSING_BUDGET`].
pub(crate) fn finish_soon(transactions: &Arc<Transactions>) {
    let core = &transactions.core;
    let until = Instant::now() + CLOSING_BUDGET;
    for _ in 0..VISITS {
        for (leaf, visits) in core.upkeep.take_leaves() {
            if Instant::now() < until {
                let _ = visit(transactions, leaf, visits);
            } else {
                core.upkeep.visited(leaf, visits, true);
            }
        }
    }
}

/// Whether an opening has to have all leaves of all tables looked at (UPKEEP-3). True also for the
/// files of versions that kept no such flag: they have a zero in its place.
pub(crate) fn needs_full_upkeep(block: &Superblock) -> bool {
    !block.upkeep_done
}

/// Marks all tables.
pub(crate) fn mark_all(core: &Core) {
    core.upkeep.mark(TreeId::CATALOGUE);
    core.tables.all().iter().for_each(|table| core.upkeep.mark(table.id()));
}

/// Returns the low fences of the leaves that break UPKEEP-1. No transaction and no visit may run.
pub(crate) fn unreported(core: &Core) -> Result<Vec<LeafKey>> {
    let mut tables = vec![core.tables.catalogue()];
    tables.extend(core.tables.all());
    let mut found = Vec::new();
    for table in tables {
        let (mut key, mut end) = (Vec::new(), Vec::new());
        loop {
            let survey = table.tree().survey(&key, &mut end)?;
            let leaf = (table.id(), key);
            if survey.ghosts > 0 && !core.upkeep.covers(&leaf) {
                found.push(leaf);
            }
            if survey.is_last {
                break;
            }
            key = std::mem::take(&mut end);
        }
    }
    Ok(found)
}

/// Visits one leaf that had this number of visits.
fn visit(transactions: &Arc<Transactions>, leaf: Arc<LeafKey>, visits: u32) -> Result<()> {
    let (tree, key) = &*leaf;
    let visits = visits + 1;
    let result =
        in_table(transactions, *tree, |state, tree| maintain(state, tree, key, &mut Vec::new()));
    let repeat = match &result {
        Ok(Some(left)) => left.is_unfinished(visits),
        Ok(None) => false,
        Err(_) => true,
    };
    transactions.core.upkeep.visited(leaf, visits, repeat);
    match result {
        Err(Error::WouldBlock { .. }) => Ok(()),
        result => result.map(drop),
    }
}

/// The state in which a visit left a leaf.
struct Left {
    leaf: LeafSurvey,
    met_held_ghost: bool,
}

impl Left {
    /// See UPKEEP-2.
    fn is_unfinished(&self, visits: u32) -> bool {
        let untidy = self.leaf.is_sparse || self.leaf.has_pending_adoption;
        self.leaf.ghosts > 0 || self.met_held_ghost || untidy && visits < VISITS
    }
}

/// Upkeep at one key; `end` is where its leaf ends then.
fn maintain(
    state: &mut TransactionState,
    tree: &Tree,
    key: &[u8],
    end: &mut Vec<u8>,
) -> Result<Left> {
    state.met_held_ghost.set(false);
    tree.maintain(state, key)?;
    let leaf = tree.survey(key, end)?;
    Ok(Left { leaf, met_held_ghost: state.met_held_ghost.get() })
}

/// One stretch of the walk over a table's leaves; whether the walk is over, or has to wait.
fn walk(transactions: &Arc<Transactions>, tree: TreeId, from: Vec<u8>) -> Result<bool> {
    let core = &transactions.core;
    let mut position = from;
    let result = in_table(transactions, tree, |state, tree| {
        for _ in 0..STRETCH_LEAVES {
            if core.upkeep.is_stopping() {
                return Err(Error::Closed);
            }
            if !walk_leaf(state, tree, &mut position)? {
                return Ok(false);
            }
        }
        Ok(true)
    });
    let (stretch, result) = match result {
        Ok(Some(true)) => (Stretch::To(position), Ok(())),
        Ok(Some(false) | None) => (Stretch::End, Ok(())),
        Err(error) => (Stretch::Failed(position), Err(error)),
    };
    let is_over = core.upkeep.walked(tree, stretch);
    match result {
        // A transaction has locked the whole table: nothing is wrong.
        Err(Error::WouldBlock { .. }) => Ok(true),
        result => result.map(|()| is_over),
    }
}

/// Looks at the leaf of `position`, does what it needs, and moves `position` to the next leaf;
/// `false` if there is none. A leaf that needs nothing is latched once, and shared.
fn walk_leaf(state: &mut TransactionState, tree: &Tree, position: &mut Vec<u8>) -> Result<bool> {
    let mut end = Vec::new();
    let mut leaf = tree.survey(position, &mut end)?;
    if leaf.ghosts > 0 || leaf.is_sparse || leaf.has_pending_adoption {
        let left = maintain(state, tree, position, &mut end)?;
        let again = left.leaf.ghosts > 0 || left.met_held_ghost || left.leaf.has_pending_adoption;
        state.core.upkeep.visited_in_passing(again.then(|| (tree.id(), position.clone())));
        leaf = left.leaf;
    }
    *position = end;
    Ok(!leaf.is_last)
}

/// Runs a part of upkeep with a participant record of its own, as system transactions that belong
/// to no user's transaction. `None` if the table is dropped.
fn in_table<R>(
    transactions: &Arc<Transactions>,
    tree: TreeId,
    work: impl FnOnce(&mut TransactionState, &Tree) -> Result<R>,
) -> Result<Option<R>> {
    let core = &transactions.core;
    core.health.check_open()?;
    let Some(table) = core.tables.by_id(tree) else { return Ok(None) };
    let mut state = transactions.begin()?;
    state.limit = WaitLimit::NoWait;
    let result = state.operate(&table, IntentMode::IX, |state, _| work(state, table.tree()));
    // What it reports itself is visited after the shorter delay: no further ghosts need be awaited.
    state.reported.iter_mut().for_each(|report| report.again = true);
    finish::leave(state);
    match result {
        Err(Error::UnknownTable { .. }) => Ok(None),
        result => result.map(Some),
    }
}
