//! The transactions that cannot go on while their thread blocks: those of the closures that run
//! further up on its stack, and those of the tasks of an agent.
//!
//! A blocking wait for one of them would never end. It is no deadlock that the lock table could
//! find, since the suspended transaction does not wait for a lock. So the wait fails at once with
//! [`Error::SelfWait`](clearway_base::Error::SelfWait).
//!
//! Invariants:
//! - SUSPENDED-1. A closure's transaction is listed while the closure runs on this thread: from
//!   before its call to after its return, or around each poll of its future. The transaction of an
//!   agent's task is also in a list of the agent's thread from the first time that the task's
//!   closure is pending (in a repeated attempt, from its beginning) until the closure has returned.
//!   It is listed again during a commit or rollback that has to wait, since the agent's thread may
//!   be the one that must finish it.
//! - SUSPENDED-2. The lists are read only when a lock was denied and a blocking wait begins.
//!   Otherwise a closure costs some ten instructions, and writes the thread's own memory only.
//! - SUSPENDED-3. A listed transaction that a thread of the engine ends (a rollback or a commit
//!   that was handed over) is not suspended: its locks are released whether or not this thread
//!   blocks.
//! - SUSPENDED-4. Transactions that a program begins and ends itself are never listed: nothing is
//!   known of the order in which it uses them.
//! - SUSPENDED-5. The list of closures is a stack, since calls end in reverse order: the innermost
//!   in a place of its own, and below it those that wait for its end, which are rare.

use std::{
    cell::{Cell, RefCell},
    marker::PhantomData,
};

use clearway_base::TxnId;

use crate::transaction_table::TransactionTable;

/// A transaction, with the number of its engine's opening.
type ListedTransaction = (u64, TxnId);

/// No transaction: openings are numbered from 1.
const NONE: ListedTransaction = (0, TxnId::NONE);

#[cfg(not(any(loom, shuttle)))]
thread_local! {
    /// The innermost closure that runs (SUSPENDED-5).
    static INNERMOST: Cell<ListedTransaction> = const { Cell::new(NONE) };
}
#[cfg(any(loom, shuttle))]
clearway_sync::thread_local! {
    static INNERMOST: Cell<ListedTransaction> = Cell::new(NONE);
}
clearway_sync::thread_local! {
    /// The closures below the innermost.
    static BELOW: RefCell<Vec<ListedTransaction>> = RefCell::default();
    static TASKS: RefCell<TaskList> = RefCell::default();
}

/// The tasks of a thread, in places that are used again.
#[derive(Default)]
struct TaskList {
    /// [`NONE`] in a place that is free.
    places: Vec<ListedTransaction>,
    free: Vec<usize>,
}

impl TaskList {
    fn add(&mut self, task: ListedTransaction) -> usize {
        match self.free.pop() {
            Some(at) => {
                self.places[at] = task;
                at
            }
            None => {
                self.places.push(task);
                self.places.len() - 1
            }
        }
    }

    /// Removes a task, unless this is the list of another thread.
    fn remove(&mut self, at: usize, task: ListedTransaction) {
        if self.places.get(at) == Some(&task) {
            self.places[at] = NONE;
            self.free.push(at);
        }
    }
}

/// A transaction whose closure runs, or will run.
#[derive(Clone, Copy, Debug)]
pub struct Closure(ListedTransaction);

impl Closure {
    #[inline]
    pub(crate) fn new(opening: u64, id: TxnId) -> Closure {
        Closure((opening, id))
    }

    /// Lists the transaction until the result is dropped: its closure runs on this thread.
    #[inline]
    #[must_use = "it is listed until this is dropped"]
    pub fn run(self) -> RunningClosure {
        let before = INNERMOST.with(|innermost| innermost.replace(self.0));
        let is_nested = before.0 != NONE.0;
        if is_nested {
            push_below(before);
        }
        RunningClosure { is_nested, of_this_thread: PhantomData }
    }

    /// Lists the transaction until the result is dropped, which must happen on this thread: an
    /// agent runs it there as a task.
    #[must_use = "it is listed until this is dropped"]
    pub fn run_as_task(self) -> SuspendedTask {
        // A thread that is ending blocks for no transaction any more.
        let at = TASKS.try_with(|tasks| tasks.borrow_mut().add(self.0)).ok();
        SuspendedTask { task: self.0, at }
    }
}

/// A closure that runs on this thread; see [`Closure::run`].
#[derive(Debug)]
pub struct RunningClosure {
    is_nested: bool,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for RunningClosure {
    #[inline]
    fn drop(&mut self) {
        let before = if self.is_nested { pop_below() } else { NONE };
        INNERMOST.with(|innermost| innermost.set(before));
    }
}

#[cold]
fn push_below(closure: ListedTransaction) {
    // A thread that is ending blocks for no transaction any more.
    let _ = BELOW.try_with(|below| below.borrow_mut().push(closure));
}

#[cold]
fn pop_below() -> ListedTransaction {
    BELOW.try_with(|below| below.borrow_mut().pop()).ok().flatten().unwrap_or(NONE)
}

/// A task of this thread; see [`Closure::run_as_task`].
#[derive(Debug)]
pub struct SuspendedTask {
    task: ListedTransaction,
    /// Its place in the thread's list.
    at: Option<usize>,
}

impl Drop for SuspendedTask {
    fn drop(&mut self) {
        let Some(at) = self.at else { return };
        let _ = TASKS.try_with(|tasks| tasks.borrow_mut().remove(at, self.task));
    }
}

/// Returns the lock owners of the transactions of an opening that cannot go on while transaction
/// `own` blocks this thread.
#[cold]
pub(crate) fn owners(transactions: &TransactionTable, opening: u64, own: TxnId) -> Vec<u32> {
    let mut owners = Vec::new();
    let mut add = |(of, id): ListedTransaction| {
        if of == opening && id != own {
            owners.extend(transactions.number_of(id));
        }
    };
    add(INNERMOST.with(Cell::get));
    let _ = BELOW.try_with(|below| below.borrow().iter().for_each(|closure| add(*closure)));
    let _ = TASKS.try_with(|tasks| tasks.borrow().places.iter().for_each(|task| add(*task)));
    owners
}
