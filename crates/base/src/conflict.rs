//! What errors and statistics say about others: which key of which table is locked, who has it, who
//! waits, and who keeps the log.
//!
//! Invariants:
//! - K1. A sample has a fixed size: it is taken under a latch, where nothing is allocated.
//! - K2. Whatever a key holds, its sample prints as one line of printable ASCII.
//!
//! A name is a diagnosis and not a result: the key may be one that somebody has inserted and not
//! committed, or a page border on which no record stands.

use std::{fmt, time::Duration};

use crate::{TreeId, TxnId};

/// Bytes of a key that a sample keeps.
pub const KEY_SAMPLE_LEN: usize = 64;

/// A key, or the first [`KEY_SAMPLE_LEN`] bytes of a longer one.
///
/// It prints as text in quotes if all of its bytes are printable, and else in hexadecimal digits;
/// what was cut is marked: `"alice"`, `0x00000000000004d2`, `"aaaa"… (100 bytes)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeySample {
    /// Length of the whole key.
    len: u32,
    bytes: [u8; KEY_SAMPLE_LEN],
}

impl KeySample {
    /// The sample of `key`.
    pub fn of(key: &[u8]) -> KeySample {
        let mut bytes = [0; KEY_SAMPLE_LEN];
        let kept = key.len().min(KEY_SAMPLE_LEN);
        bytes[..kept].copy_from_slice(&key[..kept]);
        KeySample { len: key.len() as u32, bytes }
    }

    /// The bytes that were kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.key_len().min(KEY_SAMPLE_LEN)]
    }

    /// How long the key itself is.
    pub fn key_len(&self) -> usize {
        self.len as usize
    }

    /// Whether nothing was cut.
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

/// A key as the tree names it to whoever takes its lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyName {
    /// The tree.
    pub tree: TreeId,
    /// The key whose lock, or the lock of the gap behind it, is meant.
    pub key: KeySample,
}

/// A lock as users know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockName {
    /// The table.
    pub table: String,
    /// The key whose lock, or the lock of the gap behind it, is meant. `None`: the table as a
    /// whole, or a key that is not known any more.
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

/// A transaction, with its type: the name that its statistics go by, empty if it has none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TxnName {
    /// Its id.
    pub id: TxnId,
    /// Its type.
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

/// What keeps a full log from being recycled: what [`Error::LogFull`](crate::Error::LogFull) knows.
/// Prints as a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LogKeeper {
    /// The oldest transaction that has written: its rollback needs the log from its first record
    /// on.
    Transaction {
        /// The transaction.
        txn: TxnName,
        /// How long ago it first wrote, to about 50 ms; longer for one that has been open for
        /// minutes. `None` in an engine without background threads.
        age: Option<Duration>,
        /// Whether it is the transaction that asked for the space.
        is_own: bool,
    },
    /// A backup: its copy needs the log from its start on.
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

/// Why a lock was not granted: what [`Error::LockTimeout`](crate::Error::LockTimeout) and
/// [`Error::WouldBlock`](crate::Error::WouldBlock) know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockConflict {
    /// The lock.
    pub lock: LockName,
    /// The mode that was asked for; for a key, key part and gap part, such as `XN`.
    pub wanted: &'static str,
    /// Who stood in the way when the request was given up, as far as known, and in which mode they
    /// had the lock. Users of a table are not listed, they are counted only.
    pub holders: Vec<(TxnName, &'static str)>,
}

impl fmt::Display for LockConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.wanted, self.lock)?;
        for (at, (holder, mode)) in self.holders.iter().enumerate() {
            let lead = if at == 0 { ", held by" } else { " and" };
            write!(f, "{lead} {holder} in {mode}")?;
        }
        Ok(())
    }
}

/// A member of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockMember {
    /// Who waits.
    pub txn: TxnName,
    /// The mode in which it has what the member before it waits for; for the victim, the last one.
    /// `NN` if it has nothing of it yet and only stands ahead.
    pub holds: &'static str,
    /// What it waits for, which the next member has; the last one's, the victim.
    pub lock: LockName,
    /// The mode it wants.
    pub wanted: &'static str,
}

/// A deadlock: who waited for what. Prints as a part of a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockCycle {
    /// Each waits for the next, the last for the first, which is the victim.
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
    fn samples_print_in_one_line_whatever_the_key() {
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
    fn samples_tell_keys_apart_by_bytes_and_length() {
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
