//! The minimal interface that a workload needs from a transactional engine.
//!
//! To run a workload on another engine, implement [`Store`] for a handle of it, [`Operations`]
//! for its transaction and [`Outstanding`] for a commit that is under way. An engine without
//! pipelined commits commits in `submit` and returns the result itself:
//! `Result<T, E>` itself implements [`Outstanding`] for that.

use std::{ops::Bound, time::Instant};

/// An error of a [`Store`].
pub trait StoreError: std::error::Error + Send + Sync + 'static {
    /// Creates an error that ends the transaction with `reason`, for example because a required row
    /// is missing.
    fn failed(reason: String) -> Self;

    /// Creates an error that rolls the transaction back at the workload's request, for example for
    /// an order of an unknown item.
    fn rollback() -> Self;

    /// Whether this is [`rollback`](StoreError::rollback)'s: the driver counts it and continues.
    fn is_rollback(&self) -> bool;

    /// Whether this is a conflict that outlasted the store's own retries: the driver counts it and
    /// continues, where any other error ends the run.
    fn is_conflict(&self) -> bool;
}

/// A key range's bounds, lower then upper.
pub type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The order of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Smallest key first.
    Ascending,
    /// Largest key first.
    Descending,
}

/// A handle of an engine.
///
/// The closures may run more than once (the engine retries conflicts), so they must have no effects
/// other than through the transaction.
pub trait Store: Send + Sync + 'static {
    /// A table.
    type Table: Send + Sync;
    /// The engine's error.
    type Error: StoreError;
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

/// The operations of a workload inside a transaction. Every operation is as isolated as the
/// engine's strongest level allows.
pub trait Operations {
    /// A table.
    type Table;
    /// The engine's error.
    type Error;

    /// Reads a row into `out`; false if there is none (`out` is then empty).
    fn get(
        &mut self,
        table: &Self::Table,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, Self::Error>;

    /// Like [`get`](Operations::get), with the intention to write the row next.
    fn get_for_update(
        &mut self,
        table: &Self::Table,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, Self::Error>;

    /// Adds a row; one that exists is an error.
    fn insert(&mut self, table: &Self::Table, key: &[u8], row: &[u8]) -> Result<(), Self::Error>;

    /// Adds or replaces a row.
    fn put(&mut self, table: &Self::Table, key: &[u8], row: &[u8]) -> Result<(), Self::Error>;

    /// Replaces a row; one that does not exist is an error.
    fn update(&mut self, table: &Self::Table, key: &[u8], row: &[u8]) -> Result<(), Self::Error>;

    /// Removes a row; one that does not exist is an error.
    fn delete(&mut self, table: &Self::Table, key: &[u8]) -> Result<(), Self::Error>;

    /// Visits the rows of a range in key order, as long as `visit` returns true.
    fn scan(
        &mut self,
        table: &Self::Table,
        bounds: KeyBounds<'_>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Self::Error>;

    /// Like an ascending [`scan`](Operations::scan), with the intention to write the rows visited.
    /// An engine without such scans uses an ordinary one.
    fn scan_for_update(
        &mut self,
        table: &Self::Table,
        bounds: KeyBounds<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Self::Error> {
        self.scan(table, bounds, Order::Ascending, visit)
    }
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
