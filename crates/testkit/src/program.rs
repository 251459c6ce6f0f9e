//! The operations of a transaction program, over any engine whose operations block.
//!
//! A program is a function over [`Operations`]. Benchmark workloads and the [`bank`](crate::bank)
//! of the tests write their transactions in this form once, and run them on the engine or on
//! another one.
//!
//! The simulation of the prover has a form of its own: it executes one operation of a program and
//! lets another program go on, all on one thread, so a program there returns its operations one
//! after the other. Asynchronous operations would serve both. They were tried: a transaction of
//! TPC-B takes 1.6 % more instructions, and the simulation more lines than now.

use std::ops::Bound;

use clearway_base::Error;

/// An error with which a program or one of its operations ends.
pub trait ProgramError: std::error::Error + Send + Sync + 'static {
    /// Creates an error that ends the transaction with `reason`, for example because a required row
    /// is missing.
    fn failed(reason: String) -> Self;

    /// Creates an error that rolls the transaction back at the program's request, for example for
    /// an order of an unknown item.
    fn rollback() -> Self;

    /// Returns true for the error of [`rollback`](ProgramError::rollback).
    fn is_rollback(&self) -> bool;

    /// Returns true for a conflict with other transactions that outlasted the engine's own retries.
    fn is_conflict(&self) -> bool;
}

/// The reason given for a rollback that the program itself requested.
const REQUESTED: &str = "the program requested the rollback";

impl ProgramError for Error {
    fn failed(reason: String) -> Error {
        Error::Aborted { reason }
    }

    fn rollback() -> Error {
        Error::Aborted { reason: REQUESTED.into() }
    }

    fn is_rollback(&self) -> bool {
        matches!(self, Error::Aborted { reason } if reason == REQUESTED)
    }

    fn is_conflict(&self) -> bool {
        self.is_retryable()
    }
}

/// A key range's bounds, lower then upper.
pub type KeyBounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The order of a scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanOrder {
    /// Smallest key first.
    Ascending,
    /// Largest key first.
    Descending,
}

/// The operations of a program inside a transaction. Every operation is as isolated as the engine's
/// strongest level allows.
pub trait Operations {
    /// A table.
    type Table;
    /// The engine's error.
    type Error: ProgramError;
    /// A point to which a transaction can be rolled back.
    type Savepoint;

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

    /// Visits the rows of a range in the given order, as long as `visit` returns true.
    fn scan(
        &mut self,
        table: &Self::Table,
        bounds: KeyBounds<'_>,
        order: ScanOrder,
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
        self.scan(table, bounds, ScanOrder::Ascending, visit)
    }

    /// Sets a savepoint.
    fn savepoint(&mut self) -> Result<Self::Savepoint, Self::Error>;

    /// Undoes everything since the savepoint, which remains.
    fn rollback_to(&mut self, savepoint: &Self::Savepoint) -> Result<(), Self::Error>;
}
