//! What a test plans to go wrong, and what it sees of each operation.

use std::{fmt, io};

use clearway_base::Error;

use super::random::Draws;
use crate::disk::Lasting;

/// What a call on a simulated disk does to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[allow(missing_docs, reason = "named after the calls of `Disk` and `File`")]
pub enum SimOperation {
    Open,
    Read,
    Write,
    WriteDurable,
    SyncData,
    SyncAll,
    SetLen,
    Allocate,
    Rename,
    Remove,
    CreateDir,
    SyncDir,
}

impl SimOperation {
    /// As a verb, for messages.
    pub(super) fn verb(self) -> &'static str {
        match self {
            SimOperation::Open => "open",
            SimOperation::Read => "read",
            SimOperation::Write => "write",
            SimOperation::WriteDurable => "write durably",
            SimOperation::SyncData | SimOperation::SyncAll => "sync",
            SimOperation::SetLen => "set the length of",
            SimOperation::Allocate => "grow",
            SimOperation::Rename => "rename",
            SimOperation::Remove => "remove",
            SimOperation::CreateDir => "create directory",
            SimOperation::SyncDir => "sync directory",
        }
    }

    fn is_write(self) -> bool {
        matches!(self, SimOperation::Write | SimOperation::WriteDurable)
    }

    fn is_sync(self) -> bool {
        matches!(self, SimOperation::SyncData | SimOperation::SyncAll)
    }
}

/// An operation that has just happened, in the order in which operations took effect.
#[derive(Clone, Copy, Debug)]
pub struct SimEvent<'a> {
    /// Its number; reads are numbered apart from all others. The first is 1.
    pub number: u64,
    /// What.
    pub operation: SimOperation,
    /// To which file or directory, by the name it was opened with.
    pub name: &'a str,
    /// Where in the file; the new length for `SetLen`.
    pub offset: u64,
    /// How many bytes were asked for.
    pub len: u64,
    /// The bytes of a write, what a read returned, the new name of a rename; or empty.
    pub bytes: &'a [u8],
    /// Whether the caller got an error. A write that failed may have happened in part.
    pub failed: bool,
}

/// Something that is to go wrong. `at` is the number of an operation
/// ([`SimDisk::operations`](super::SimDisk::operations) counts them); a fault that only some
/// operations can meet strikes the first such operation numbered `at` or higher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The power goes: the operation happens in part, and it and every later call fail with
    /// [`PowerCut`].
    PowerCut {
        /// The operation.
        at: u64,
    },
    /// The operation fails. `ErrorKind::StorageFull` becomes [`Error::DiskFull`] and changes
    /// nothing; after any other error a write may have happened in part.
    Fail {
        /// The first operation that may fail.
        at: u64,
        /// The only operation that fails; every one but a read if there is none.
        operation: Option<SimOperation>,
        /// How it fails. `ErrorKind::Other` is what EIO looks like.
        kind: io::ErrorKind,
        /// For how long.
        lasting: Lasting,
    },
    /// A sync fails and forgets the unsynced writes of its file. Reads still see them, and the next
    /// sync succeeds without them.
    SyncDropsWrites {
        /// The first operation that may be it.
        at: u64,
    },
    /// A write succeeds, at another offset of its file.
    MisdirectedWrite {
        /// The first operation that may be it.
        at: u64,
    },
    /// A write succeeds and nothing is written.
    LostWrite {
        /// The first operation that may be it.
        at: u64,
    },
    /// A read goes wrong.
    Read {
        /// How.
        fault: ReadFault,
        /// When.
        when: ReadWhen,
    },
}

/// How a read goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadFault {
    /// It fails with EIO.
    Fail,
    /// It succeeds with one wrong bit.
    FlipBit,
    /// It succeeds, and one sector is what it was before it was last overwritten, if the range has
    /// such a sector.
    StaleSector,
    /// It succeeds with the bytes at another offset of the file, if there is one.
    Misdirected,
}

/// Which reads go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadWhen {
    /// The read of this number ([`SimDisk::reads`](super::SimDisk::reads) counts them).
    Number(u64),
    /// About so many of a million reads, drawn from the seed.
    PerMillion(u32),
}

/// The power of a simulated disk is off: the source of the I/O error that every call then gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerCut;

impl PowerCut {
    /// Whether `error` is the power cut, or says that it was the cause.
    pub fn caused(error: &Error) -> bool {
        match error {
            Error::Io { source, .. } => {
                source.get_ref().is_some_and(|inner| inner.is::<PowerCut>())
            }
            Error::Poisoned { cause } | Error::OutcomeUnknown { cause } => Self::caused(cause),
            _ => false,
        }
    }
}

impl fmt::Display for PowerCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the power is cut")
    }
}

impl std::error::Error for PowerCut {}

/// The faults that are still to come.
#[derive(Clone, Default)]
pub(super) struct Plan(Vec<Fault>);

/// What the plan says about one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Succeed,
    CutPower,
    Fail(io::ErrorKind),
    DropWrites,
    Misdirect,
    Lose,
}

impl Plan {
    pub(super) fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// What happens to this operation; a power cut goes before all others, then the order in which
    /// the faults were planned decides.
    pub(super) fn strike(&mut self, operation: SimOperation, number: u64) -> Verdict {
        let due: Vec<usize> = match self.0.as_slice() {
            [] => return Verdict::Succeed,
            faults => {
                let indices = 0..faults.len();
                indices.filter(|&index| faults[index].is_due(operation, number)).collect()
            }
        };
        let is_cut = |&&index: &&usize| matches!(self.0[index], Fault::PowerCut { .. });
        let Some(&index) = due.iter().find(is_cut).or(due.first()) else {
            return Verdict::Succeed;
        };
        let fault = self.0[index];
        if !matches!(fault, Fault::Fail { lasting: Lasting::Forever, .. }) {
            self.0.remove(index);
        }
        fault.verdict()
    }

    pub(super) fn strike_read(&self, seed: u64, number: u64) -> Option<ReadFault> {
        self.0.iter().enumerate().find_map(|(index, fault)| {
            let Fault::Read { fault, when } = fault else { return None };
            let due = match *when {
                ReadWhen::Number(at) => at == number,
                ReadWhen::PerMillion(rate) => {
                    Draws::new(seed ^ index as u64, number).below(1_000_000) < u64::from(rate)
                }
            };
            due.then_some(*fault)
        })
    }
}

impl Fault {
    fn is_due(&self, operation: SimOperation, number: u64) -> bool {
        match *self {
            Fault::PowerCut { at } => number >= at,
            Fault::Fail { at, operation: only, .. } => {
                number >= at && only.is_none_or(|only| only == operation)
            }
            Fault::SyncDropsWrites { at } => number >= at && operation.is_sync(),
            Fault::MisdirectedWrite { at } | Fault::LostWrite { at } => {
                number >= at && operation.is_write()
            }
            Fault::Read { .. } => false,
        }
    }

    fn verdict(&self) -> Verdict {
        match *self {
            Fault::PowerCut { .. } => Verdict::CutPower,
            Fault::Fail { kind, .. } => Verdict::Fail(kind),
            Fault::SyncDropsWrites { .. } => Verdict::DropWrites,
            Fault::MisdirectedWrite { .. } => Verdict::Misdirect,
            Fault::LostWrite { .. } => Verdict::Lose,
            Fault::Read { .. } => Verdict::Succeed,
        }
    }
}
