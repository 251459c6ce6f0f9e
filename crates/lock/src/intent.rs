//! Intent lock modes: the modes in which a transaction locks a whole table or database.
//!
//! Invariants:
//! - INTENT-MODE-1. The code is "Efficient Locking for Databases", table 4 (Gray's granularity of
//!   locks).
//! - INTENT-MODE-2. IS and IX are *intents*: compatible with each other and with themselves, so a
//!   conflict always involves an *absolute* mode (S, SIX or X).

use crate::mode::RangeMode;

/// An intent lock mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum IntentMode {
    /// The owner will read parts.
    IS,
    /// The owner will write parts.
    IX,
    /// The owner reads the whole resource.
    S,
    /// The owner reads the whole resource and will write parts.
    SIX,
    /// The owner writes the whole resource.
    X,
}

use IntentMode::{IS, IX, S, SIX, X};

/// The mode of an absolute lock on a whole table, or on the whole database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbsoluteMode {
    /// Excludes writes and reads for update by other transactions: for a large scan, or a
    /// consistent copy.
    Shared,
    /// Excludes all other transactions: for a bulk load or a complete rewrite.
    Exclusive,
}

impl From<AbsoluteMode> for IntentMode {
    fn from(mode: AbsoluteMode) -> IntentMode {
        match mode {
            AbsoluteMode::Shared => S,
            AbsoluteMode::Exclusive => X,
        }
    }
}

/// A set of modes, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ModeSet(u8);

impl ModeSet {
    pub(crate) const fn of(modes: &[IntentMode]) -> ModeSet {
        let (mut bits, mut at) = (0, 0);
        while at < modes.len() {
            bits |= 1 << modes[at] as u8;
            at += 1;
        }
        ModeSet(bits)
    }

    #[inline]
    pub(crate) const fn with(self, mode: IntentMode) -> ModeSet {
        ModeSet(self.0 | 1 << mode as u8)
    }

    #[inline]
    pub(crate) const fn without(self, mode: IntentMode) -> ModeSet {
        ModeSet(self.0 & !(1 << mode as u8))
    }

    #[inline]
    pub(crate) const fn union(self, other: ModeSet) -> ModeSet {
        ModeSet(self.0 | other.0)
    }

    #[inline]
    pub(crate) const fn contains(self, mode: IntentMode) -> bool {
        self.0 & 1 << mode as u8 != 0
    }

    #[inline]
    pub(crate) const fn meets(self, other: ModeSet) -> bool {
        self.0 & other.0 != 0
    }
}

impl IntentMode {
    /// All modes, in the order of their codes.
    pub(crate) const ALL: [IntentMode; 5] = [IS, IX, S, SIX, X];

    /// Returns the mode's name.
    pub const fn name(self) -> &'static str {
        ["IS", "IX", "S", "SIX", "X"][self as usize]
    }

    /// Returns the modes that another owner must not hold beside this one (INTENT-MODE-1).
    #[inline]
    pub(crate) const fn conflicts(self) -> ModeSet {
        const TABLE: [ModeSet; 5] = [
            ModeSet::of(&[X]),
            ModeSet::of(&[S, SIX, X]),
            ModeSet::of(&[IX, SIX, X]),
            ModeSet::of(&[IX, S, SIX, X]),
            ModeSet::of(&[IS, IX, S, SIX, X]),
        ];
        TABLE[self as usize]
    }

    /// Returns true if two owners may hold these modes at the same time.
    #[inline]
    pub const fn compatible(self, other: IntentMode) -> bool {
        !self.conflicts().contains(other)
    }

    /// Returns the weakest mode that is as strong as both. Only S and IX have no order: together,
    /// SIX.
    #[inline]
    pub const fn supremum(self, other: IntentMode) -> IntentMode {
        match (self, other) {
            (S, IX) | (IX, S) => SIX,
            _ if (self as u8) < other as u8 => other,
            _ => self,
        }
    }

    /// Returns true if this mode covers `other`.
    #[inline]
    pub const fn covers(self, other: IntentMode) -> bool {
        const TABLE: [ModeSet; 5] = [
            ModeSet::of(&[IS]),
            ModeSet::of(&[IS, IX]),
            ModeSet::of(&[IS, S]),
            ModeSet::of(&[IS, IX, S, SIX]),
            ModeSet::of(&[IS, IX, S, SIX, X]),
        ];
        TABLE[self as usize].contains(other)
    }

    /// Returns true if the mode locks the whole resource, and is not only an intent.
    #[inline]
    pub const fn is_absolute(self) -> bool {
        matches!(self, S | SIX | X)
    }

    /// Returns the intent that an owner must take on the database before this mode on a table.
    #[inline]
    pub const fn above(self) -> IntentMode {
        match self {
            IS | S => IS,
            IX | SIX | X => IX,
        }
    }

    /// Returns the mode that the holder implicitly has on every key and gap of the resource.
    #[inline]
    pub const fn on_every_key(self) -> RangeMode {
        match self {
            IS | IX => RangeMode::NN,
            S | SIX => RangeMode::SS,
            X => RangeMode::XX,
        }
    }

    /// Returns true if the mode's holder may have written parts of the resource under locks on
    /// them.
    pub(crate) const fn writes_parts(self) -> bool {
        matches!(self, IX | SIX)
    }
}

/// An intent lock in its owner's private table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeldIntent {
    /// Index of the resource's entry.
    pub(crate) entry: u32,
    pub(crate) mode: IntentMode,
}

impl RangeMode {
    /// Returns the mode that represents an intent lock in the lock table's queues: modes coded in
    /// this way have the same compatibility and suprema as the intent modes. The first part means
    /// "present" and, for X, "alone"; the second encodes whether all is read, parts are written, or
    /// both.
    pub(crate) const fn of_intent(mode: IntentMode) -> RangeMode {
        RangeMode(match mode {
            IntentMode::IS => 0b00_01,
            IntentMode::IX => 0b10_01,
            IntentMode::S => 0b01_01,
            IntentMode::SIX => 0b11_01,
            IntentMode::X => 0b11_11,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's table 4 as printed, without the row and column N: `+` compatible, `-` not.
    const TABLE_4: &str = "
            S X IS IX SIX
        S   + - +  -  -
        X   - - -  -  -
        IS  + - +  +  +
        IX  - - +  +  -
        SIX - - +  -  -
    ";

    fn mode(name: &str) -> IntentMode {
        let named = |mode: &&IntentMode| format!("{mode:?}") == name;
        *IntentMode::ALL.iter().find(named).expect("a mode of the table")
    }

    #[test]
    fn compatibility_equals_the_papers_table() {
        let mut lines = TABLE_4.lines().map(str::trim).filter(|line| !line.is_empty());
        let columns: Vec<_> = lines.next().unwrap().split_whitespace().map(mode).collect();
        for line in lines {
            let mut words = line.split_whitespace();
            let row = mode(words.next().unwrap());
            for (column, word) in columns.iter().zip(words) {
                assert_eq!(row.compatible(*column), word == "+", "{row:?} and {column:?}");
            }
        }
    }

    #[test]
    fn supremum_is_the_least_upper_bound() {
        for a in IntentMode::ALL {
            for b in IntentMode::ALL {
                let sup = a.supremum(b);
                assert!(sup.covers(a) && sup.covers(b));
                assert_eq!(a.covers(b), sup == a);
                assert_eq!(sup, b.supremum(a));
                for c in IntentMode::ALL {
                    assert!(!(c.covers(a) && c.covers(b)) || c.covers(sup));
                    // A stronger mode conflicts with at least as many modes.
                    assert!(c.compatible(a) && c.compatible(b) || !c.compatible(sup));
                }
            }
        }
    }

    #[test]
    fn what_is_held_on_every_key_conflicts_where_the_modes_do() {
        // The holder of an intent may have a lock of this mode on some key.
        let on_some_key = |mode| match mode {
            IS => RangeMode::SS,
            IX | SIX => RangeMode::XX,
            absolute => absolute.on_every_key(),
        };
        for absolute in [S, SIX, X] {
            for other in IntentMode::ALL.into_iter().filter(|&mode| mode.compatible(absolute)) {
                assert!(absolute.on_every_key().compatible(on_some_key(other)));
                assert!(!absolute.above().is_absolute());
            }
        }
    }

    #[test]
    fn only_absolute_modes_conflict() {
        for a in IntentMode::ALL {
            for b in IntentMode::ALL {
                assert!(a.compatible(b) || a.is_absolute() || b.is_absolute());
            }
        }
    }
}
