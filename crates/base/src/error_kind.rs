//! The kinds of errors, without their details.

use std::fmt;

use crate::Error;

/// Defines [`ErrorKind`], with a kind for each variant of [`Error`].
macro_rules! kinds {
    ($($kind:ident)*) => {
        /// The kind of an [`Error`]: its variant, without the details. It can be compared, counted
        /// and used as a key.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = concat!("[`Error::", stringify!($kind), "`].")] $kind,)*
        }

        impl ErrorKind {
            /// All kinds, in the order of the variants of [`Error`].
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$kind),*];

            /// Returns the name of the kind, which is that of the variant.
            pub fn name(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => stringify!($kind),)*
                }
            }
        }

        impl Error {
            /// Returns the kind of the error.
            pub fn kind(&self) -> ErrorKind {
                match self {
                    $(Error::$kind { .. } => ErrorKind::$kind,)*
                }
            }
        }
    };
}

kinds! {
    Io
    DiskFull
    NoFileDescriptor
    LogFull
    NotADatabase
    FormatTooNew
    AlreadyOpen
    BackupIntoItself
    StillInUse
    Corrupt
    ForeignLog
    CorruptPage
    Deadlock
    LockTimeout
    ReadTimeout
    WriteTimeout
    WouldBlock
    SelfWait
    Cancelled
    DuplicateKey
    NotFound
    KeyTooLarge
    ValueTooLarge
    BadTableName
    UnknownTable
    TableExists
    DropUnfinished
    BadOption
    TransactionEnded
    BacklogFull
    TooManyTransactions
    UnknownSavepoint
    Aborted
    Panicked
    Poisoned
    BrokenInvariant
    OutcomeUnknown
    Closed
    Forked
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
