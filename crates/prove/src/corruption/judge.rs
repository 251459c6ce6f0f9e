//! Corrupts a database, and judges how the engine handles it.

use std::sync::Arc;

use clearway_base::{Error, Lsn, Result};
use clearway_sync::block_on;
use clearway_testkit::Random;
use clearway_testkit::disk::SimDisk;
use clearway_txn::{Engine, Kind};

use super::{
    exchange,
    inject::Corruption,
    original::{Original, open},
    other_tables,
    trailers::{self, GroupTrailer},
};
use crate::oracles::{
    Bounds, Oracle, Row, State, Verdict, Violation, check_quiet, check_same, check_structure,
    read_state, read_state_as_task,
};

/// One case in this many is the log of another copy instead of a corruption.
const EXCHANGES: u64 = 16;

/// The rows that one transaction writes, few enough for any log.
const ROWS_PER_TRANSACTION: usize = 8;

/// The allowed results of a corruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// The contents are unchanged.
    Same,
    /// Opening fails with an error that reports the damage.
    Refused,
    /// Opening succeeds, and an access to the damaged data fails with an error that reports it.
    Detected,
    /// The history ends at the damage, in the last groups of a log that was not closed in order.
    Torn,
}

impl Outcome {
    /// The name of its counter.
    pub(super) fn name(self) -> &'static str {
        match self {
            Outcome::Same => "same",
            Outcome::Refused => "refused",
            Outcome::Detected => "detected",
            Outcome::Torn => "torn",
        }
    }
}

/// Corrupts a copy of `original` in one to five places, and judges the result; if `by_task`, tasks
/// read and write it. Also returns true if there were undamaged tables that could be examined.
///
/// # Errors
/// A violation.
pub(super) fn examine(
    original: &Original,
    by_task: bool,
    random: &mut Random,
) -> Verdict<(Outcome, bool)> {
    if random.one_in(EXCHANGES) {
        return Ok((exchange::examine(original, random)?, false));
    }
    let disk = original.disk.fork();
    let io = |error: Error| Violation::unexpected("damaging", &error);
    let before = trailers::read(&disk).map_err(io)?;
    let count = random.pick(&[1, 1, 1, 2, 5]);
    let mut corruptions = Vec::new();
    let one_tables = original.pages_of_one_table(random);
    for _ in 0..count {
        let corruption = match &one_tables {
            Some(pages) => Corruption::make_in(&disk, random.pick(pages), random),
            None => Corruption::make(&disk, &before, random),
        };
        corruptions.push(corruption.map_err(io)?);
    }
    let lsns: Vec<u64> = corruptions.iter().filter_map(Corruption::lsn).collect();
    let is_untouched = |trailer: &&GroupTrailer| {
        let group = trailer.group..trailer.end;
        !lsns.iter().any(|lsn| group.contains(lsn))
    };
    let after: Vec<GroupTrailer> = before.iter().filter(is_untouched).copied().collect();
    // The undamaged tables first, since `judge` may open the database and change it.
    let others = other_tables::examine(original, &disk, &corruptions);
    let judged =
        others.and_then(|any| Ok((judge(original, &disk, &corruptions, &after, by_task)?, any)));
    judged.map_err(|violation| {
        let places = corruptions.iter().map(|each| format!("{} at {}", each.file, each.offset));
        let places: Vec<String> = places.collect();
        let Violation { oracle, detail } = violation;
        Violation::new(oracle, format!("{detail} [{}; {}]", original.name, places.join(", ")))
    })
}

fn judge(
    original: &Original,
    disk: &SimDisk,
    corruptions: &[Corruption],
    trailers: &[GroupTrailer],
    by_task: bool,
) -> Verdict<Outcome> {
    let engine = match open(disk, &original.options) {
        Ok(engine) => engine,
        Err(error) => {
            check_typed("opening", &error)?;
            // The opening has already written log of its own behind a torn tail.
            let is_torn = torn_at(corruptions, trailers).is_some();
            return if is_torn {
                Ok(Outcome::Refused)
            } else {
                restore(original, disk, corruptions)
            };
        }
    };
    if engine.tables().iter().map(String::as_str).ne(original.contents.tables())
        && torn_at(corruptions, trailers).is_none()
    {
        let detail = format!("the tables are {:?}", engine.tables());
        return Err(Violation::new(Oracle::Prefix, detail));
    }
    let read = if by_task { read_by_both(&engine)? } else { read_state(&engine) };
    let found = match read {
        Ok(found) => found,
        Err(error) => {
            check_typed("reading", &error)?;
            drop(engine);
            check_unread(original, disk, torn_at(corruptions, trailers))?;
            return Ok(Outcome::Detected);
        }
    };
    let torn = match original.contents.difference(&found) {
        None => false,
        Some(detail) => judge_torn(original, &found, torn_at(corruptions, trailers), detail)?,
    };
    if let Err(error) = rewrite(&engine, &found, by_task) {
        check_typed("writing", &error)?;
        drop(engine);
        check_later(original, disk, &found)?;
        return Ok(Outcome::Detected);
    }
    let detected = match engine.verify() {
        Ok(_) => {
            check_structure(&engine)?;
            check_quiet(&engine)?;
            false
        }
        Err(error) => check_typed("verify", &error).map(|()| true)?,
    };
    if let Err(error) = engine.close() {
        check_typed("close", &error)?;
    }
    drop(engine);
    check_later(original, disk, &found)?;
    Ok(match (torn, detected) {
        (true, _) => Outcome::Torn,
        (_, true) => Outcome::Detected,
        _ => Outcome::Same,
    })
}

/// Reads the contents by tasks, and checks that this has not stopped the engine, and that a thread
/// that blocks finds the same afterwards, or gets the same error.
fn read_by_both(engine: &Arc<Engine>) -> Verdict<Result<State>> {
    let by_task = read_state_as_task(engine);
    let stopped = |error| Violation::unexpected("the engine, after tasks have read", &error);
    engine.health().map_err(stopped)?;
    match (&by_task, read_state(engine)) {
        (Ok(one), Ok(other)) => check_same(one, &other)?,
        (Err(one), Err(other)) if one.to_string() == other.to_string() => {}
        (one, other) => {
            let of = |read: Option<&Error>| read.map_or("the contents".into(), Error::to_string);
            let (one, other) = (of(one.as_ref().err()), of(other.as_ref().err()));
            let detail = format!("a task read {one}, and a thread {other}");
            return Err(Violation::new(Oracle::Answer, detail));
        }
    }
    Ok(by_task)
}

/// Writes all rows again, so that damage that only writers meet is met.
fn rewrite(engine: &Arc<Engine>, contents: &State, by_task: bool) -> Result<()> {
    for name in contents.tables() {
        let table = engine.open_table(name)?;
        let rows: Vec<(&Vec<u8>, &Row)> = contents.rows(name).into_iter().flatten().collect();
        for rows in rows.chunks(ROWS_PER_TRANSACTION) {
            let mut txn = if by_task { engine.begin_task(Kind::NONE) } else { engine.begin() };
            let mut put = |key: &[u8], value: &[u8]| match by_task {
                true => block_on(txn.put_as_task(&table, key, value)),
                false => txn.put(&table, key, value),
            };
            for (key, row) in rows {
                if let Some(value) = &row.value {
                    // The record shrinks, then has its value again: two changes of its leaf.
                    put(key, b"")?;
                    put(key, value)?;
                }
            }
            if by_task { block_on(txn.commit_as_task()) } else { txn.commit() }?;
        }
    }
    Ok(())
}

/// Checks that opening the database once more gives the same contents, or an error that reports the
/// damage.
fn check_later(original: &Original, disk: &SimDisk, found: &State) -> Verdict {
    match open(disk, &original.options).and_then(|engine| read_state(&engine)) {
        Err(error) => check_typed("opening again", &error),
        Ok(later) => check_same(found, &later),
    }
}

/// Checks the same if the contents could not be read the first time. They may be readable now: a
/// page LSN beyond the end of a log that is torn is not noticed any more once the log has grown.
fn check_unread(original: &Original, disk: &SimDisk, torn_at: Option<u64>) -> Verdict {
    let later = match open(disk, &original.options).and_then(|engine| read_state(&engine)) {
        Err(error) => return check_typed("opening again", &error),
        Ok(later) => later,
    };
    match original.contents.difference(&later) {
        Some(difference) => judge_torn(original, &later, torn_at, difference).map(drop),
        None => Ok(()),
    }
}

/// Returns the first damaged byte of the log that no intact group trailer behind it proves to have
/// been durable.
fn torn_at(corruptions: &[Corruption], trailers: &[GroupTrailer]) -> Option<u64> {
    let covers = |trailer: &GroupTrailer, lsn: u64| trailer.group > lsn && trailer.durable > lsn;
    let is_covered = |lsn: &u64| trailers.iter().any(|trailer| covers(trailer, *lsn));
    corruptions.iter().filter_map(Corruption::lsn).filter(|lsn| !is_covered(lsn)).min()
}

/// Judges a shorter history: it is allowed if it ends at damage in the part of the log that no
/// group trailer proves to have been durable.
fn judge_torn(
    original: &Original,
    found: &State,
    torn_at: Option<u64>,
    difference: String,
) -> Verdict<bool> {
    let Some(lsn) = torn_at else {
        return Err(Violation::new(Oracle::Prefix, difference));
    };
    let appended = original.bounds.appended;
    let complete = (0..=appended).rev().find(|&count| original.history.lsn_of(count) <= Lsn(lsn));
    let acknowledged = complete.unwrap_or(0).min(original.bounds.acknowledged);
    let bounds = Bounds { acknowledged, appended };
    original.history.judge(found, bounds).map(|_| true)
}

/// Checks that a failed opening lost nothing: once the original bytes are restored, the contents
/// are complete. Does not check if the damaged bytes were overwritten in the meantime.
fn restore(original: &Original, disk: &SimDisk, corruptions: &[Corruption]) -> Verdict<Outcome> {
    let io = |error: Error| Violation::unexpected("restoring the original bytes", &error);
    for corruption in corruptions.iter().rev() {
        if !corruption.is_in_place(disk).map_err(io)? {
            return Ok(Outcome::Refused);
        }
        corruption.restore(disk).map_err(io)?;
    }
    let restored = open(disk, &original.options).and_then(|engine| read_state(&engine));
    let restored = restored.map_err(|error| Violation::unexpected("restored, opened", &error))?;
    check_same(&original.contents, &restored)?;
    Ok(Outcome::Refused)
}

/// Checks that `error` reports damage.
pub(super) fn check_typed(what: &str, error: &Error) -> Verdict {
    match error {
        Error::Corrupt { .. } | Error::CorruptPage { .. } | Error::NotADatabase { .. } => Ok(()),
        // A sector of another place may be a valid label, or a valid first record of an epoch.
        Error::ForeignLog { .. } => Ok(()),
        Error::Poisoned { cause } | Error::DropUnfinished { cause, .. } => check_typed(what, cause),
        error => Err(Violation::unexpected(what, error)),
    }
}
