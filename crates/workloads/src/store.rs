//! The minimal interface that a workload needs from a transactional engine.
//!
//! To run a workload on another engine, implement [`Store`] for a handle of it, [`Operations`]
//! for its transaction and [`Outstanding`] for a commit that is under way. An engine without
//! pipelined commits commits in `submit` and returns the result itself:
//! `Result<T, E>` itself implements [`Outstanding`] for that.

use std::time::Instant;

use clearway_testkit::program::{Operations, ProgramError};

/// A handle of an engine.
///
/// The closures may run more than once (the engine retries conflicts), so they must have no effects
/// other than through the transaction.
pub trait Store: Send + Sync + 'static {
    /// A table.
    type Table: Send + Sync;
    /// The engine's error.
    type Error: ProgramError;
    /// The transaction type passed to closures.
    type Tx<'a>: Operations<Table = Self::Table, Error = Self::Error>;
    /// The handle of a commit that is not durable yet.
    type Pending<T: Send>: Outstanding<T, Self::Error>;

    /// Opens a table, creating it if there is none.
    fn table(&self, name: &str) -> Result<Self::Table, Self::Error>;

    /// Runs a transaction of type `name` and returns once it is durable.
    fn run<T, F>(&self, name: &'static str, body: F) -> Result<T, Self::Error>
    where
        T: Send,
        F: for<'a> FnMut(&mut Self::Tx<'a>) -> Result<T, Self::Error>;

    /// Runs a transaction of type `name`; the caller awaits durability on the returned handle.
    fn submit<T, F>(&self, name: &'static str, body: F) -> Result<Self::Pending<T>, Self::Error>
    where
        T: Send,
        F: for<'a> FnMut(&mut Self::Tx<'a>) -> Result<T, Self::Error>;

    /// Returns the number of attempts rolled back because of a conflict since the store was opened.
    fn aborts(&self) -> u64;
}

/// A commit that is not durable yet.
pub trait Outstanding<T, E> {
    /// Whether [`wait`](Outstanding::wait) would return at once. Cheap: called often.
    fn is_ready(&self) -> bool;

    /// Waits until the commit is ready or `deadline` has passed; returns whether it is ready.
    fn wait_until(&self, deadline: Instant) -> bool;

    /// Waits until the commit is durable.
    fn wait(self) -> Result<T, E>;
}

/// For engines whose `submit` returns only after the commit is durable.
impl<T, E> Outstanding<T, E> for Result<T, E> {
    fn is_ready(&self) -> bool {
        true
    }

    fn wait_until(&self, _deadline: Instant) -> bool {
        true
    }

    fn wait(self) -> Result<T, E> {
        self
    }
}
