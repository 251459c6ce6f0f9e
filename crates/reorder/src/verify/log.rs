//! The log that the mock writes during a run.
//!
//! The mock writes each byte above 127 as the character with that number. Texts that are UTF-8 are
//! read as such; others stay one character a byte, so that different bytes stay different.

use serde::{Deserialize, Deserializer};

use super::VerifyError;

/// A line of the log.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub(crate) enum Event {
    /// The program ran or prepared a query.
    Query(QueryEvent),
    /// The program used the interface in a way that its manual forbids.
    Misuse { what: String, key: String },
    /// The program asked for something that the mock cannot do; its process has ended.
    Unsupported { what: String },
    /// The program has come to a call that runs a query.
    Site { number: usize },
    /// A value that the program received.
    Input { path: String, value: String },
    /// A value that the program left behind.
    Output { path: String, value: String },
    /// The call begins.
    Begins,
    /// The call has returned.
    Ends,
}

/// A query that the program ran or prepared.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub(crate) struct QueryEvent {
    pub connection: u32,
    pub kind: Kind,
    pub statement: Statement,
    #[serde(deserialize_with = "text")]
    pub sql: String,
    #[serde(deserialize_with = "texts")]
    pub parameters: Vec<Option<String>>,
    /// Identifies the query by its text, its parameters and its occurrence, in hexadecimal.
    pub key: String,
    /// The SQLSTATE if it failed; empty if the connection was lost.
    pub failed: Option<String>,
    /// True if the mock made it fail.
    pub injected: bool,
    /// The state of the connection afterwards.
    pub state: State,
    /// The number of rows of the result.
    pub rows: u64,
    /// The number of rows that it changed, or nothing.
    pub changed: String,
    /// The values of the first row.
    pub first: Vec<Option<String>>,
    /// True if the statement cannot do without a row: `INSERT … VALUES`.
    #[serde(default)]
    pub always: bool,
}

/// The use that the program made of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Query,
    Prepare,
}

/// The kind of a statement, as far as the mock knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Statement {
    Empty,
    Rows,
    Change,
    Begin,
    Commit,
    Rollback,
    Savepoint,
    RollbackTo,
    Release,
    Other,
}

/// The state of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Idle,
    Active,
    Failed,
    Lost,
}

/// Reads a log.
pub(crate) fn read(log: &str) -> Result<Vec<Event>, VerifyError> {
    let read_line = |line: &str| {
        serde_json::from_str(line)
            .map_err(|error| VerifyError::Log { line: line.to_owned(), reason: error.to_string() })
    };
    log.lines().map(read_line).collect()
}

fn decode(text: String) -> String {
    let bytes: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(text)
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(decode)
}

fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Option<String>>, D::Error> {
    let texts = Vec::<Option<String>>::deserialize(from)?;
    Ok(texts.into_iter().map(|text| text.map(decode)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_utf8_become_one_character() {
        assert_eq!(decode("f\u{c3}\u{bc}r".to_owned()), "für");
    }

    #[test]
    fn other_bytes_stay_different() {
        assert_ne!(decode("\u{dd}".to_owned()), decode("\u{de}".to_owned()));
    }

    #[test]
    fn bad_line_is_an_error_with_the_line() {
        let error = read("{\"event\":\"begins\"}\n{\"event\":\"que").unwrap_err();
        assert!(matches!(error, VerifyError::Log { line, .. } if line == "{\"event\":\"que"));
    }
}
