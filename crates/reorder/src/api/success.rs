//! The results of a call that mean success.

use serde::Deserialize;

/// The results of a call that reports a status and mean success.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Written")]
pub enum Success {
    /// These numbers; none if the result is no number, or if it is not known which.
    Listed(Vec<i64>),
    /// This number and all larger ones: of a call that returns a number of rows, or -1.
    AtLeast(i64),
}

impl Default for Success {
    fn default() -> Success {
        Success::Listed(Vec::new())
    }
}

impl Success {
    /// Returns true if no result is known to mean success.
    pub fn is_empty(&self) -> bool {
        matches!(self, Success::Listed(numbers) if numbers.is_empty())
    }

    /// Returns true if a result means success.
    pub fn contains(&self, result: i64) -> bool {
        match self {
            Success::Listed(numbers) => numbers.contains(&result),
            Success::AtLeast(least) => result >= *least,
        }
    }
}

/// The forms in a file.
#[derive(Deserialize)]
#[serde(untagged, expecting = "write a list of numbers, or a range as in \">= 0\"")]
enum Written {
    Listed(Vec<i64>),
    Range(String),
}

impl TryFrom<Written> for Success {
    type Error = String;

    fn try_from(written: Written) -> Result<Success, String> {
        let range = match written {
            Written::Listed(numbers) => return Ok(Success::Listed(numbers)),
            Written::Range(range) => range,
        };
        let least = range.trim().strip_prefix(">=").and_then(|least| least.trim().parse().ok());
        let message = || format!("`{range}` is no range that this tool knows: write \">= 0\"");
        least.map(Success::AtLeast).ok_or_else(message)
    }
}
