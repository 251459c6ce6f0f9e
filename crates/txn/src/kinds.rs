//! Types of transactions: names that users give, numbered so that counting by type is cheap.
//!
//! Invariant: a type, once numbered, keeps its number as long as the engine is open. Number 0 is
//! shared by transactions without a type and by transactions of types after the 63rd.

use std::collections::HashMap;

use clearway_sync::RwLock;

/// Upper bound on the number of types, number 0 included: 63 have a number of their own.
pub const KINDS_MAX: usize = 64;

/// The number of a type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Kind(u16);

impl Kind {
    /// No type.
    pub const NONE: Kind = Kind(0);

    /// The number, below [`KINDS_MAX`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The type of this number, which is below [`KINDS_MAX`].
    pub fn of_index(index: usize) -> Kind {
        debug_assert!(index < KINDS_MAX);
        Kind(index as u16)
    }

    /// The number as an entry of the transaction table holds it.
    #[inline]
    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    pub(crate) fn of_bits(bits: u16) -> Kind {
        Kind(bits)
    }
}

/// The types of an open engine.
pub struct Kinds {
    /// Each at its number.
    names: RwLock<Vec<&'static str>>,
    numbers: RwLock<HashMap<&'static str, Kind>>,
}

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds { names: RwLock::new(vec![""]), numbers: RwLock::new(HashMap::new()) }
    }
}

impl Kinds {
    /// The type of this name; a new number if it was never asked for. Remember it: this looks into
    /// a map.
    #[cold]
    pub fn of_name(&self, name: &'static str) -> Kind {
        if let Some(&kind) = self.numbers.read().get(name) {
            return kind;
        }
        let (mut numbers, mut names) = (self.numbers.write(), self.names.write());
        *numbers.entry(name).or_insert_with(|| {
            if name.is_empty() || names.len() == KINDS_MAX {
                return Kind::NONE;
            }
            names.push(name);
            Kind((names.len() - 1) as u16)
        })
    }

    /// The name of a type; empty for [`Kind::NONE`].
    pub fn name(&self, kind: Kind) -> &'static str {
        self.names.read().get(kind.index()).copied().unwrap_or_default()
    }

    /// All names, each at its number.
    pub fn names(&self) -> Vec<&'static str> {
        self.names.read().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_keep_their_numbers_and_the_last_share_one() {
        let kinds = Kinds::default();
        let names: Vec<&'static str> =
            (0..KINDS_MAX).map(|n| &*Box::leak(format!("type {n}").into_boxed_str())).collect();
        let numbers: Vec<usize> = names.iter().map(|name| kinds.of_name(name).index()).collect();
        assert_eq!(numbers[..KINDS_MAX - 1], (1..KINDS_MAX).collect::<Vec<_>>());
        assert_eq!(kinds.of_name(names[KINDS_MAX - 1]), Kind::NONE);
        assert_eq!(kinds.of_name(""), Kind::NONE);
        assert_eq!(kinds.of_name(names[6]).index(), 7);
        assert_eq!(kinds.name(kinds.of_name(names[6])), "type 6");
        assert_eq!(kinds.name(Kind::NONE), "");
    }
}
