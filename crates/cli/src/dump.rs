//! `clearway dump`: a database's contents as stable text.

use std::{
    fmt::Write as _,
    io::{self, BufWriter, Write},
};

use clearway::{Database, Entry, Table};

use crate::{
    args::DumpArgs,
    failure::{Context, Outcome},
};

/// The number of entries that one transaction reads. No other process has the database open, so the
/// parts together are one consistent state, and the number of locks stays small.
const ENTRIES_PER_TRANSACTION: usize = 4_000;

pub(crate) fn run(args: &DumpArgs) -> Outcome {
    let db = args.open.open()?;
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let names = match &args.table {
        Some(name) => vec![name.clone()],
        None => db.tables(),
    };
    for name in names {
        let table = db.open_table(&name).with_context(|| "cannot dump".into())?;
        if !dump_table(&db, &table, &mut out)? {
            break;
        }
    }
    drop(out);
    db.close().with_context(|| format!("cannot close {}", args.open.dir.display()))
}

/// Writes one table. Returns false if the reader of standard output is gone.
fn dump_table(db: &Database, table: &Table, out: &mut impl Write) -> Outcome<bool> {
    let mut text = format!("table {}\n", escaped(table.name().as_bytes()));
    let mut from = Vec::new();
    loop {
        let part = db.transact("dump", |tx| {
            let scan = tx.scan(table, from.clone()..);
            scan.take(ENTRIES_PER_TRANSACTION).collect::<clearway::Result<Vec<Entry>>>()
        });
        let part = part.with_context(|| format!("cannot read table {:?}", table.name()))?;
        for (key, value) in &part {
            let _ = writeln!(text, "{} {}", escaped(key), escaped(value));
        }
        let done = part.len() < ENTRIES_PER_TRANSACTION;
        if done {
            text.push_str("end\n");
        }
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
            result => result.with_context(|| "cannot write the dump".into())?,
        }
        if done {
            return Ok(true);
        }
        text.clear();
        // The smallest key after the last one read.
        from = part.into_iter().next_back().map(|(key, _)| key).unwrap_or_default();
        from.push(0);
    }
}

/// Returns `bytes` as text: graphic ASCII other than the backslash unchanged, every other byte as
/// `\xNN`.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'\\' {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_escaped_without_ambiguity() {
        assert_eq!(escaped(b"a b\\\xFF\n"), "a\\x20b\\x5c\\xff\\x0a");
        assert_eq!(escaped(b""), "");
    }

    #[test]
    fn a_table_of_several_parts_is_dumped_whole_and_in_order() {
        let db = clearway::Options::in_memory().cache_size(16 << 20).open("dump").unwrap();
        let table = db.table("t").unwrap();
        let count = ENTRIES_PER_TRANSACTION as u32 + 7;
        db.transact("fill", |tx| {
            (0..count).try_for_each(|n| tx.insert(&table, format!("{n:06}"), [0]))
        })
        .unwrap();
        let mut out = Vec::new();
        assert!(dump_table(&db, &table, &mut out).unwrap());
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), count as usize + 2);
        assert_eq!((lines[0], lines[1]), ("table t", "000000 \\x00"));
        assert_eq!(lines[lines.len() - 1], "end");
        assert!(lines[1..lines.len() - 1].is_sorted());
    }
}
