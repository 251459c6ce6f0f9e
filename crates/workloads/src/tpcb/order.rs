//! The order of a transaction's statements.

use std::{fmt, str::FromStr};

/// The order in which a transaction changes its rows. It decides for how long the hottest row, the
/// branch, is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TpcbOrder {
    /// Account, history, teller, branch: as in the standard's sample program.
    #[default]
    Standard,
    /// The reverse: branch, teller, history, account. The branch is locked while the transaction
    /// does everything else.
    BranchFirst,
}

const NAMES: [(&str, TpcbOrder); 2] =
    [("standard", TpcbOrder::Standard), ("branch-first", TpcbOrder::BranchFirst)];

impl FromStr for TpcbOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<TpcbOrder, String> {
        let named = NAMES.iter().find(|(name, _)| *name == text);
        let refused = || format!("{text:?} is none of standard, branch-first");
        named.map(|(_, order)| *order).ok_or_else(refused)
    }
}

impl fmt::Display for TpcbOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES[*self as usize].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_are_written() {
        for (name, order) in NAMES {
            assert_eq!((order.to_string().as_str(), name.parse()), (name, Ok(order)));
        }
        let refused = "branch".parse::<TpcbOrder>().unwrap_err();
        assert!(refused.contains("standard, branch-first"), "{refused}");
    }
}
