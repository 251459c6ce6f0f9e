//! Names of locks, transactions and deadlocks in errors and statistics: which key of which table is
//! locked, which transactions hold or await it, and what keeps the log from being recycled.
//!
//! Invariants:
//! - CONFLICT-1. A sample has a fixed size, so that it is taken under a latch without an
//!   allocation.
//! - CONFLICT-2. The sample of any key prints as one line of printable ASCII, except for the `…`
//!   that marks a cut key.
//!
//! A name serves diagnosis and is not a query result: the key may be one that another transaction
//! has inserted and not committed, or a page boundary at which there is no record.

use std::{fmt, time::Duration};

use crate::{TreeId, TxnId};

/// The maximum number of a key's bytes that a sample keeps.
pub const KEY_SAMPLE_LEN: usize = 64;

/// A key, or the first [`KEY_SAMPLE_LEN`] bytes of a longer one.
///
/// It prints as text in quotes if all of its bytes are printable ASCII, and otherwise in
/// hexadecimal digits. A key that was cut is followed by the length of the whole key: `"alice"`,
/// `0x00000000000004d2`, `"aaaa"… (100 bytes)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeySample {
    /// Length of the whole key.
    len: u32,
    bytes: [u8; KEY_SAMPLE_LEN],
}

impl KeySample {
    /// Returns the sample of `key`.
    pub fn of(key: &[u8]) -> KeySample {
        let mut bytes = [0; KEY_SAMPLE_LEN];
        let kept = key.len().min(KEY_SAMPLE_LEN);
        bytes[..kept].copy_from_slice(&key[..kept]);
        KeySample { len: key.len() as u32, bytes }
    }

    /// Returns the bytes that were kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.key_len().min(KEY_SAMPLE_LEN)]
    }

    /// Returns the length of the whole key, in bytes.
    pub fn key_len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if the sample holds the whole key.
    pub fn is_whole(&self) -> bool {
        self.key_len() <= KEY_SAMPLE_LEN
    }
}

impl fmt::Display for KeySample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes();
        if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
            write!(f, "\"{}\"", bytes.escape_ascii())?;
        } else {
            write!(f, "0x")?;
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        if self.is_whole() { Ok(()) } else { write!(f, "… ({} bytes)", self.len) }
    }
}

impl fmt::Debug for KeySample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A key, as the tree names it to the caller that locks it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyName {
    /// The tree that contains the key.
    pub tree: TreeId,
    /// The locked key, or the key before the locked gap.
    pub key: KeySample,
}

/// A key of a table, named for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableKey {
    /// The table.
    pub table: String,
    /// The key.
    pub key: KeySample,
}

impl fmt::Display for TableKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key {} of table {:?}", self.key, self.table)
    }
}

/// A lock, named by table and key for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockName {
    /// The table, or a description in parentheses, for example `(database)` for the lock on the
    /// whole database, or `(dropped, 7)` for a table that was dropped since. `?` if it is unknown.
    pub table: String,
    /// The locked key, or the key before the locked gap. `None` if the lock is on a whole table or
    /// on the database, or if the key is no longer known.
    pub key: Option<KeySample>,
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "key {key} of table {:?}", self.table),
            None => write!(f, "table {:?}", self.table),
        }
    }
}

/// A transaction and its type. The type is the name under which its statistics are collected. It is
/// empty if the transaction has none, for types after the 63rd, and for work of the engine itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxnName {
    /// The id of the transaction.
    pub id: TxnId,
    /// The type of the transaction.
    pub kind: &'static str,
}

impl fmt::Display for TxnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            "" => write!(f, "transaction {}", self.id.0),
            kind => write!(f, "{kind:?} (transaction {})", self.id.0),
        }
    }
}

/// The transaction or backup that needs the oldest part of a full log, as
/// [`Error::LogFull`](crate::Error::LogFull) reports it. Prints as a part of a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LogKeeper {
    /// The oldest transaction that has written: its rollback needs the log from its first record
    /// on.
    Transaction {
        /// The transaction.
        txn: TxnName,
        /// The time since its first write, or somewhat less: the engine notes times at most 20
        /// times a second, and not during a checkpoint. `None` if unknown, for example just after
        /// that write.
        age: Option<Duration>,
        /// True if it is the transaction that requested the space.
        is_own: bool,
    },
    /// A backup. Its copy needs all log that recovery would have needed when the backup began, and
    /// all log written since.
    Backup,
}

impl fmt::Display for LogKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogKeeper::Transaction { txn, age, is_own } = self else {
            return write!(f, "a backup keeps it from being recycled; wait for its end, or raise");
        };
        write!(f, "{}{txn}", if *is_own { "this transaction, " } else { "" })?;
        if let Some(age) = age {
            write!(f, ", open for {:.1} s,", age.as_secs_f64())?;
        } else if *is_own {
            write!(f, ",")?;
        }
        let remedy = if *is_own { "end it, write less at a time," } else { "end it," };
        write!(f, " keeps it from being recycled; {remedy} or raise")
    }
}

/// A lock that was not granted and the transactions that held it, as
/// [`Error::LockTimeout`](crate::Error::LockTimeout),
/// [`Error::WouldBlock`](crate::Error::WouldBlock) and
/// [`Error::SelfWait`](crate::Error::SelfWait) report them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockConflict {
    /// The lock.
    pub lock: LockName,
    /// The requested mode; for a key, the key part and the gap part, such as `XN`.
    pub wanted: &'static str,
    /// Holders of the lock, as far as known, each with the mode in which it held the lock: those
    /// whose held mode, or the mode to which they waited to convert it, conflicted with the request
    /// when it was given up. At most four are listed. Empty if the request was blocked only by
    /// requests of transactions that held nothing of the lock.
    pub holders: Vec<(TxnName, &'static str)>,
}

impl fmt::Display for LockConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) on {}", in_words(self.wanted), self.wanted, self.lock)?;
        for (at, (holder, mode)) in self.holders.iter().enumerate() {
            let lead = if at == 0 { ", held by" } else { " and" };
            write!(f, "{lead} {holder} in {mode}")?;
        }
        Ok(())
    }
}

/// Returns a description of a mode by its name.
fn in_words(mode: &str) -> &'static str {
    match mode {
        "SN" | "S" => "shared",
        "XN" | "X" => "exclusive",
        "NS" => "shared lock of the gap",
        "NX" => "exclusive lock of the gap",
        "SS" => "shared, with the gap,",
        "XX" => "exclusive, with the gap,",
        "SX" => "shared, with the gap exclusively,",
        "XS" => "exclusive, with the gap shared,",
        _ => "intent lock",
    }
}

/// A member of a deadlock. If a member gave up its wait while the deadlock was described (at its
/// time limit, or because its task was dropped), modes can be `NN`, and the member can be missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockMember {
    /// The waiting transaction.
    pub txn: TxnName,
    /// The mode in which it holds the lock that the previous member waits for; for the victim, the
    /// lock that the last member waits for.
    pub holds: &'static str,
    /// The lock that it waits for. The next member holds it; the victim holds the lock that the
    /// last member waits for.
    pub lock: LockName,
    /// The requested mode.
    pub wanted: &'static str,
}

/// The transactions of a deadlock and the locks that they waited for. Prints as a part of a
/// sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockCycle {
    /// The members in order: each waits for the next, and the last for the first, which is the
    /// victim.
    pub members: Vec<DeadlockMember>,
}

impl fmt::Display for DeadlockCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(victim) = self.members.first() else { return Ok(()) };
        for (at, member) in self.members.iter().enumerate() {
            match at {
                0 => write!(f, "{} waited for", member.txn)?,
                _ => {
                    write!(f, ", which {} has in {} while it waits for", member.txn, member.holds)?
                }
            }
            write!(f, " {} on {}", member.wanted, member.lock)?;
        }
        write!(f, ", which the victim had in {}", victim.holds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_any_key_print_in_one_line() {
        let shown = |key: &[u8]| KeySample::of(key).to_string();
        assert_eq!(shown(b"alice"), "\"alice\"");
        assert_eq!(shown(b""), "\"\"");
        assert_eq!(shown(b"a\"b\\"), r#""a\"b\\""#);
        assert_eq!(shown(&1234u64.to_be_bytes()), "0x00000000000004d2");
        assert_eq!(shown("é\n".as_bytes()), "0xc3a90a");
        let long = shown(&[b'a'; 100]);
        assert_eq!(long, format!("\"{}\"… (100 bytes)", "a".repeat(64)));
        assert!(KeySample::of(&[7; 64]).is_whole() && !KeySample::of(&[7; 65]).is_whole());
    }

    #[test]
    fn samples_differ_by_bytes_and_by_key_length() {
        assert_ne!(KeySample::of(b"a"), KeySample::of(b"a\0"));
        assert_ne!(KeySample::of(&[1; 65]), KeySample::of(&[1; 66]));
        assert_eq!(KeySample::of(&[1; 65]).bytes(), [1; 64]);
    }

    #[test]
    fn a_deadlock_is_one_sentence() {
        let member = |id, kind, holds, key: &[u8]| DeadlockMember {
            txn: TxnName { id: TxnId(id), kind },
            holds,
            lock: LockName { table: "t".into(), key: Some(KeySample::of(key)) },
            wanted: "XN",
        };
        let members = vec![member(7, "pay", "SN", b"b"), member(8, "", "XN", b"a")];
        let expected = "\"pay\" (transaction 7) waited for XN on key \"b\" of table \"t\", which \
                        transaction 8 has in XN while it waits for XN on key \"a\" of table \
                        \"t\", which the victim had in SN";
        assert_eq!(DeadlockCycle { members }.to_string(), expected);
    }
}
