//! The errors that each public call of `clearway` may return: valid input is never refused.
//!
//! An error is named by its variant, as `Debug` prints it, so that the table does not depend on the
//! engine. A lane that runs valid calls passes each error that they return to [`check`], together
//! with what it has done to the database that could explain the error. A test of `clearway`
//! compares the table with the `# Errors` sections of the sources.

use std::fmt::Debug;

/// A public call that can fail.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Type and method.
    pub name: &'static str,
    /// The errors that this call itself is documented to return.
    pub own: &'static [&'static str],
    /// True if it waits for locks, and so may lose a conflict.
    pub locks: bool,
    /// True if it takes space in the log or in files.
    pub takes_space: bool,
}

/// The actions of a lane that explain errors which a valid call returns under no other
/// circumstances.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Circumstances {
    /// The disk fails, or has failed.
    pub faults: bool,
    /// Bytes of the database were changed without the engine.
    pub damage: bool,
    /// The database, or the transaction, may have ended or was never begun; a table may have been
    /// dropped.
    pub ended: bool,
}

impl Circumstances {
    /// No fault, no damage, nothing ended.
    pub const SOUND: Circumstances = Circumstances { faults: false, damage: false, ended: false };
    /// The disk fails.
    pub const FAULTS: Circumstances = Circumstances { faults: true, damage: false, ended: false };
    /// Bytes were changed.
    pub const DAMAGE: Circumstances = Circumstances { faults: false, damage: true, ended: false };
}

/// The errors that a call that waits for locks may return.
const CONFLICTS: &[&str] = &["Deadlock", "LockTimeout", "WouldBlock", "SelfWait"];
/// The errors that a call that takes space may return.
const SPACE: &[&str] = &["LogFull", "DiskFull"];
/// The errors of any call that a failing disk, or a cache that is too small, explains.
const FAULTS: &[&str] =
    &["Io", "NoFileDescriptor", "ReadTimeout", "WriteTimeout", "DiskFull", "BadOption", "Poisoned"];
/// The errors that an opening may return.
const OPENING: &[&str] = &[
    "NotADatabase",
    "FormatTooNew",
    "AlreadyOpen",
    "Corrupt",
    "CorruptPage",
    "ForeignLog",
    "BadOption",
];
/// The errors of any call that changed bytes explain.
const DAMAGE: &[&str] =
    &["Corrupt", "CorruptPage", "ForeignLog", "NotADatabase", "FormatTooNew", "Poisoned"];
/// The errors of any call on something that has ended or could not begin.
const ENDED: &[&str] =
    &["TransactionEnded", "TooManyTransactions", "Closed", "Forked", "UnknownTable", "Poisoned"];

const fn call(name: &'static str, own: &'static [&'static str]) -> Call {
    Call { name, own, locks: false, takes_space: false }
}

const fn reading(name: &'static str, own: &'static [&'static str]) -> Call {
    Call { locks: true, ..call(name, own) }
}

const fn writing(name: &'static str, own: &'static [&'static str]) -> Call {
    Call { takes_space: true, ..reading(name, own) }
}

/// All calls that return a `Result`, by file.
pub const CALLS: &[Call] = &[
    call("Options::open", OPENING),
    call("Database::open", OPENING),
    writing("Database::table", &["BadTableName", "DropUnfinished", "OutcomeUnknown"]),
    call("Database::open_table", &["UnknownTable"]),
    writing(
        "Database::create_table",
        &["TableExists", "BadTableName", "DropUnfinished", "OutcomeUnknown"],
    ),
    writing("Database::drop_table", &["UnknownTable", "DropUnfinished", "OutcomeUnknown"]),
    // Also the errors that the closure returns.
    writing("Database::transact", &["Panicked", "OutcomeUnknown"]),
    reading("Database::get", &["KeyTooLarge"]),
    writing("Database::submit", &["Panicked", "OutcomeUnknown"]),
    writing("Database::transact_async", &["Panicked", "OutcomeUnknown", "TransactionEnded"]),
    writing("Database::submit_async", &["Panicked", "OutcomeUnknown", "TransactionEnded"]),
    call("Database::spawn", &["BacklogFull", "Closed", "Io"]),
    writing("Database::try_transact", &["Panicked", "OutcomeUnknown"]),
    writing("Database::try_submit", &["Panicked", "OutcomeUnknown"]),
    writing("Database::try_transact_async", &["Panicked", "OutcomeUnknown", "TransactionEnded"]),
    writing("Database::try_submit_async", &["Panicked", "OutcomeUnknown", "TransactionEnded"]),
    call("Database::try_spawn", &["BacklogFull", "Closed", "Io"]),
    call("Database::sync", &["OutcomeUnknown"]),
    Call { takes_space: true, ..call("Database::checkpoint", &[]) },
    Call {
        takes_space: true,
        ..call("Database::backup", &["Io", "AlreadyOpen", "BackupIntoItself"])
    },
    call("Database::verify", &["Corrupt", "CorruptPage", "LockTimeout"]),
    call("Database::health", &["Poisoned", "Closed"]),
    Call { takes_space: true, ..call("Database::close", &["StillInUse"]) },
    writing("Pending::wait", &["OutcomeUnknown", "Poisoned"]),
    writing("Pending::try_take", &["OutcomeUnknown", "Poisoned"]),
    call("PipelineOptions::start", &["BadOption", "Io"]),
    call("Pipeline::submit", &["BacklogFull", "Closed"]),
    call("Pipeline::submit_then", &["BacklogFull", "Closed"]),
    call("Pipeline::submit_async", &["BacklogFull", "Closed"]),
    call("Pipeline::submit_async_then", &["BacklogFull", "Closed"]),
    call("Pipeline::try_submit", &["BacklogFull", "Closed"]),
    call("Pipeline::try_submit_then", &["BacklogFull", "Closed"]),
    call("Pipeline::try_submit_async", &["BacklogFull", "Closed"]),
    call("Pipeline::try_submit_async_then", &["BacklogFull", "Closed"]),
    writing("Ticket::wait", &["OutcomeUnknown"]),
    reading("Cursor::next", &["TransactionEnded", "Deadlock", "LockTimeout"]),
    reading("Cursor::next_ref", &["TransactionEnded", "Deadlock", "LockTimeout"]),
    reading("Scan::next_ref", &[]),
    reading("Scan::count", &[]),
    reading("Scan::last", &[]),
    reading("Scan::nth", &[]),
    reading("Transaction::get", &["KeyTooLarge", "Cancelled"]),
    reading("Transaction::get_into", &["KeyTooLarge", "Cancelled"]),
    reading("Transaction::get_many", &["KeyTooLarge", "Cancelled"]),
    call("Transaction::prefetch", &["Cancelled"]),
    reading("Transaction::get_for_update", &["KeyTooLarge", "Cancelled"]),
    reading("Transaction::get_for_update_into", &["KeyTooLarge", "Cancelled"]),
    reading("Transaction::get_for_update_with", &["WouldBlock", "LockTimeout", "KeyTooLarge"]),
    // Also the errors that the closure returns.
    writing("Transaction::waiting", &[]),
    writing("Transaction::insert", &["DuplicateKey", "KeyTooLarge", "ValueTooLarge"]),
    writing("Transaction::put", &["KeyTooLarge", "ValueTooLarge"]),
    writing("Transaction::update", &["NotFound", "KeyTooLarge", "ValueTooLarge"]),
    writing("Transaction::delete", &["NotFound", "KeyTooLarge"]),
    reading("Transaction::cursor", &[]),
    reading("Transaction::get_with", &["KeyTooLarge", "Cancelled"]),
    reading("Transaction::contains_key", &["KeyTooLarge", "Cancelled"]),
    reading("Transaction::first", &["Cancelled"]),
    reading("Transaction::last", &["Cancelled"]),
    reading("Transaction::count", &["Cancelled"]),
    writing("Transaction::modify", &["KeyTooLarge", "ValueTooLarge"]),
    writing("Transaction::replace", &["KeyTooLarge", "ValueTooLarge"]),
    writing("Transaction::take", &["KeyTooLarge"]),
    writing("Transaction::insert_or_get", &["KeyTooLarge", "ValueTooLarge"]),
    writing("Transaction::compare_and_set", &["KeyTooLarge", "ValueTooLarge"]),
    writing("Transaction::delete_range", &[]),
    writing("Transaction::clear", &[]),
    reading("Transaction::cursor_for_update", &[]),
    reading("AsyncTransaction::contains_key", &["KeyTooLarge", "Cancelled"]),
    reading("AsyncTransaction::first", &["Cancelled"]),
    reading("AsyncTransaction::last", &["Cancelled"]),
    reading("AsyncTransaction::count", &["Cancelled"]),
    writing("AsyncTransaction::modify", &["KeyTooLarge", "ValueTooLarge"]),
    writing("AsyncTransaction::replace", &["KeyTooLarge", "ValueTooLarge"]),
    writing("AsyncTransaction::take", &["KeyTooLarge"]),
    writing("AsyncTransaction::insert_or_get", &["KeyTooLarge", "ValueTooLarge"]),
    writing("AsyncTransaction::compare_and_set", &["KeyTooLarge", "ValueTooLarge"]),
    writing("AsyncTransaction::delete_range", &[]),
    writing("AsyncTransaction::clear", &[]),
    reading("AsyncTransaction::cursor_for_update", &[]),
    reading("AsyncTransaction::scan_for_update_descending", &[]),
    call("Transaction::abort", &["Aborted"]),
    reading("Transaction::lock_table", &["Deadlock", "LockTimeout", "WouldBlock"]),
    reading("Transaction::lock_database", &["Deadlock", "LockTimeout", "WouldBlock"]),
    call("Transaction::savepoint", &[]),
    call("Transaction::rollback_to", &["UnknownSavepoint"]),
    writing("Transaction::commit", &["TransactionEnded", "OutcomeUnknown"]),
    writing("Transaction::commit_pipelined", &["TransactionEnded"]),
    call("Transaction::rollback", &[]),
    reading("AsyncTransaction::get", &["KeyTooLarge", "Cancelled"]),
    reading("AsyncTransaction::get_many", &["KeyTooLarge", "Cancelled"]),
    call("AsyncTransaction::prefetch", &["Cancelled"]),
    reading("AsyncTransaction::get_for_update", &["KeyTooLarge", "Cancelled"]),
    writing("AsyncTransaction::insert", &["DuplicateKey", "KeyTooLarge", "ValueTooLarge"]),
    writing("AsyncTransaction::put", &["KeyTooLarge", "ValueTooLarge"]),
    writing("AsyncTransaction::update", &["NotFound", "KeyTooLarge", "ValueTooLarge"]),
    writing("AsyncTransaction::delete", &["NotFound", "KeyTooLarge"]),
    reading("AsyncTransaction::scan", &[]),
    reading("AsyncTransaction::scan_descending", &[]),
    reading("AsyncTransaction::scan_for_update", &[]),
    reading("AsyncTransaction::cursor", &[]),
    reading("AsyncTransaction::next", &["TransactionEnded", "Deadlock", "LockTimeout"]),
    call("AsyncTransaction::abort", &["Aborted"]),
    reading("AsyncTransaction::lock_table", &["Deadlock", "LockTimeout", "WouldBlock"]),
    reading("AsyncTransaction::lock_database", &["Deadlock", "LockTimeout", "WouldBlock"]),
    call("AsyncTransaction::savepoint", &[]),
    call("AsyncTransaction::rollback_to", &["UnknownSavepoint"]),
    writing("AsyncTransaction::commit", &["TransactionEnded", "OutcomeUnknown"]),
    writing("AsyncTransaction::commit_pipelined", &["TransactionEnded"]),
    call("AsyncTransaction::rollback", &[]),
    reading("AsyncScan::next", &["Deadlock", "LockTimeout"]),
    reading("AsyncScan::next_ref", &[]),
    reading("AsyncScan::count", &[]),
];

impl Call {
    /// Returns the call of this name.
    pub fn named(name: &str) -> Option<&'static Call> {
        CALLS.iter().find(|call| call.name == name)
    }

    /// Returns true if the call may return the error of this variant.
    pub fn may_return(&self, variant: &str, around: Circumstances) -> bool {
        let listed = |group: &[&str]| group.contains(&variant);
        listed(self.own)
            || self.locks && listed(CONFLICTS)
            || self.takes_space && listed(SPACE)
            || around.faults && listed(FAULTS)
            || around.damage && listed(DAMAGE)
            || around.ended && listed(ENDED)
    }

    /// Returns true if the documentation of the call may name the variant, because the call returns
    /// it in some circumstances.
    pub fn may_name(&self, variant: &str) -> bool {
        self.may_return(variant, Circumstances { faults: true, damage: true, ended: true })
    }
}

/// Returns the variant of an error: the word with which its debug form begins.
pub fn variant_of(error: &dyn Debug) -> String {
    let text = format!("{error:?}");
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_string()
}

/// Checks an error that a valid call has returned.
///
/// # Errors
/// A description, if the table does not list the error for the call.
pub fn check(name: &str, error: &dyn Debug, around: Circumstances) -> Result<(), String> {
    let call = Call::named(name).ok_or_else(|| format!("{name} is not in the table of calls"))?;
    match call.may_return(&variant_of(error), around) {
        true => Ok(()),
        false => Err(format!("{name} must not return {error:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[allow(dead_code)] // printed
    enum Error {
        Io { path: &'static str },
        CorruptPage(u32),
        NotFound,
        LogFull,
    }

    #[test]
    fn an_error_needs_an_explanation() {
        let sound = Circumstances::SOUND;
        assert!(check("Transaction::delete", &Error::NotFound, sound).is_ok());
        assert!(check("Transaction::put", &Error::NotFound, sound).is_err());
        assert!(check("Transaction::put", &Error::LogFull, sound).is_ok());
        assert!(check("Transaction::get", &Error::LogFull, sound).is_err());
        let damaged = Error::CorruptPage(3);
        assert!(check("Transaction::put", &damaged, sound).is_err());
        assert!(check("Transaction::put", &damaged, Circumstances::FAULTS).is_err());
        assert!(check("Transaction::put", &damaged, Circumstances::DAMAGE).is_ok());
        let io = Error::Io { path: "log" };
        assert!(check("Transaction::get", &io, sound).is_err());
        assert!(check("Transaction::get", &io, Circumstances::FAULTS).is_ok());
        assert!(check("Transaction::fetch", &io, Circumstances::FAULTS).is_err());
    }

    #[test]
    fn each_call_is_listed_once() {
        for (at, call) in CALLS.iter().enumerate() {
            assert!(CALLS[..at].iter().all(|other| other.name != call.name), "{}", call.name);
        }
    }
}
