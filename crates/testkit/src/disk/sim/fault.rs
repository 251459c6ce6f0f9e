//! The faults that a test plans, and the events by which it observes each operation.

use std::{fmt, io};

use clearway_base::Error;

use crate::{Random, disk::Lasting};

/// The kind of an operation on a simulated disk.
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
    /// The operation as a verb, for messages.
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
    /// The number of the operation; reads are numbered separately from all others. The first is 1.
    pub number: u64,
    /// The kind of operation.
    pub operation: SimOperation,
    /// The file or directory, by the name with which it was opened.
    pub name: &'a str,
    /// The offset in the file; the new length for `SetLen`.
    pub offset: u64,
    /// The number of requested bytes.
    pub len: u64,
    /// The bytes of a write, the bytes that a read returned, or the new name of a rename; otherwise
    /// empty.
    pub bytes: &'a [u8],
    /// True if the operation returned an error. A failed write may have taken effect in part.
    pub failed: bool,
}

/// A planned fault. `at` is the number of an operation
/// ([`SimDisk::operations`](super::SimDisk::operations) counts them). A fault that applies only to
/// some kinds of operations affects the first such operation numbered `at` or higher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The power fails: the operation takes effect in part, and it and every later call fail with
    /// [`PowerCut`].
    PowerCut {
        /// The operation.
        at: u64,
    },
    /// The operation fails. `ErrorKind::StorageFull` becomes [`Error::DiskFull`] and changes
    /// nothing; after any other error a write may have taken effect in part.
    Fail {
        /// The first operation that may fail.
        at: u64,
        /// The only kind of operation that fails; `None` for all kinds except reads.
        operation: Option<SimOperation>,
        /// The kind of the error. `ErrorKind::Other` stands for EIO.
        kind: io::ErrorKind,
        /// The duration of the fault.
        lasting: Lasting,
    },
    /// A sync fails and drops the unsynced writes of its file. Reads still see them, and the next
    /// sync succeeds without them.
    SyncDropsWrites {
        /// The first operation that may be affected.
        at: u64,
    },
    /// A write returns success, but takes effect at another offset of its file.
    MisdirectedWrite {
        /// The first operation that may be affected.
        at: u64,
    },
    /// A write returns success, but writes nothing.
    LostWrite {
        /// The first operation that may be affected.
        at: u64,
    },
    /// A read is faulty.
    Read {
        /// The kind of fault.
        fault: ReadFault,
        /// The affected reads.
        when: ReadWhen,
    },
}

/// The kind of fault of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadFault {
    /// The read fails with EIO.
    Fail,
    /// The read succeeds with one wrong bit.
    FlipBit,
    /// The read succeeds, but one sector has the contents from before it was last overwritten, if
    /// the range has such a sector.
    StaleSector,
    /// The read succeeds with the bytes at another offset of the file, if there is one.
    Misdirected,
}

/// The reads that a fault affects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadWhen {
    /// The read of this number ([`SimDisk::reads`](super::SimDisk::reads) counts them).
    Number(u64),
    /// About this number of a million reads, drawn from the seed.
    PerMillion(u32),
}

/// The power of a simulated disk is off: the source of the I/O error that every call then returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerCut;

impl PowerCut {
    /// Returns true if `error` is the power cut, or names it as its cause.
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

/// The faults that can still occur.
#[derive(Clone, Default)]
pub(super) struct Plan(Vec<Fault>);

/// The effect of the plan on one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effect {
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

    /// Returns the effect on this operation, and removes the fault that takes effect unless it
    /// lasts forever. A power cut precedes all other faults; otherwise the fault that was planned
    /// first takes effect.
    pub(super) fn effect_on(&mut self, operation: SimOperation, number: u64) -> Effect {
        let due: Vec<usize> = match self.0.as_slice() {
            [] => return Effect::Succeed,
            faults => {
                let indices = 0..faults.len();
                indices.filter(|&index| faults[index].is_due(operation, number)).collect()
            }
        };
        let is_cut = |&&index: &&usize| matches!(self.0[index], Fault::PowerCut { .. });
        let Some(&index) = due.iter().find(is_cut).or(due.first()) else {
            return Effect::Succeed;
        };
        let fault = self.0[index];
        if !matches!(fault, Fault::Fail { lasting: Lasting::Forever, .. }) {
            self.0.remove(index);
        }
        fault.effect()
    }

    pub(super) fn effect_on_read(&self, seed: u64, number: u64) -> Option<ReadFault> {
        self.0.iter().enumerate().find_map(|(index, fault)| {
            let Fault::Read { fault, when } = fault else { return None };
            let due = match *when {
                ReadWhen::Number(at) => at == number,
                ReadWhen::PerMillion(rate) => {
                    Random::stream(seed ^ index as u64, number).below(1_000_000) < u64::from(rate)
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

    fn effect(&self) -> Effect {
        match *self {
            Fault::PowerCut { .. } => Effect::CutPower,
            Fault::Fail { kind, .. } => Effect::Fail(kind),
            Fault::SyncDropsWrites { .. } => Effect::DropWrites,
            Fault::MisdirectedWrite { .. } => Effect::Misdirect,
            Fault::LostWrite { .. } => Effect::Lose,
            Fault::Read { .. } => Effect::Succeed,
        }
    }
}
