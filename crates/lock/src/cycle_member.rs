//! The members of a cycle of waits, as they are reported (`cycle`).

use crate::identity::LockId;

/// The lock that an owner waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Awaited {
    /// A key or gap.
    Range(LockId),
    /// The resource of this entry. Resources may share an entry.
    Intent(u32),
}

/// A member of a cycle of waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CycleMember {
    /// The owner's [number](crate::LockOwner::number).
    pub owner: u32,
    /// The lock it waits for; the next member holds it, or the first, if this is the last.
    pub lock: Awaited,
    /// The name of the mode that it wants.
    pub wanted: &'static str,
    /// The mode in which it holds the lock that the previous member waits for; `NN` if one of the
    /// two has meanwhile given up its wait (see CYCLE-1).
    pub holds: &'static str,
}
