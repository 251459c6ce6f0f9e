//! What came of a wound.

use clearway_base::{Error, Lsn};
use clearway_testkit::disk::SimDisk;

use super::{
    beside, exchange,
    patient::{Patient, open},
    seals::{self, Seal},
    wound::Wound,
};
use crate::{
    oracles::{
        Bounds, Oracle, State, Verdict, Violation, check_quiet, check_same, check_structure,
        read_state,
    },
    random::Random,
};

/// One case in so many is no wound but the log of a copy.
const EXCHANGES: u64 = 16;

/// What a damaged database has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// It says what it said.
    Same,
    /// It says what is damaged, when it is opened.
    Refused,
    /// It says what is damaged, when that is met.
    Met,
    /// Its history ends where the damage is, in the last groups of an unclean log.
    Torn,
}

impl Outcome {
    /// Under which it is counted.
    pub(super) fn name(self) -> &'static str {
        match self {
            Outcome::Same => "same",
            Outcome::Refused => "refused",
            Outcome::Met => "met",
            Outcome::Torn => "torn",
        }
    }
}

/// Wounds `patient`, so often, and judges what comes of it. Also returns whether there were tables
/// beside the damaged ones to look at.
///
/// # Errors
/// What is wrong.
pub(super) fn examine(patient: &Patient, random: &mut Random) -> Verdict<(Outcome, bool)> {
    if random.one_in(EXCHANGES) {
        return Ok((exchange::examine(patient, random)?, false));
    }
    let disk = patient.disk.fork();
    let io = |error: Error| Violation::unexpected("damaging", &error);
    let before = seals::read(&disk).map_err(io)?;
    let count = random.pick(&[1, 1, 1, 2, 5]);
    let mut wounds = Vec::new();
    let one_tables = patient.pages_of_one_table(random);
    for _ in 0..count {
        let wound = match &one_tables {
            Some(pages) => Wound::make_in(&disk, random.pick(pages), random),
            None => Wound::make(&disk, &before, random),
        };
        wounds.push(wound.map_err(io)?);
    }
    let lsns: Vec<u64> = wounds.iter().filter_map(Wound::lsn).collect();
    let speaks = |seal: &&Seal| !lsns.iter().any(|lsn| (seal.group..seal.end).contains(lsn));
    let after: Vec<Seal> = before.iter().filter(speaks).copied().collect();
    // First, since a judgement may open the database and change it.
    let beside = beside::examine(patient, &disk, &wounds);
    let judged = beside.and_then(|beside| Ok((judge(patient, &disk, &wounds, &after)?, beside)));
    judged.map_err(|violation| {
        let places = wounds.iter().map(|wound| format!("{} at {}", wound.file, wound.offset));
        let places: Vec<String> = places.collect();
        let Violation { oracle, detail } = violation;
        Violation::new(oracle, format!("{detail} [{}; {}]", patient.name, places.join(", ")))
    })
}

fn judge(patient: &Patient, disk: &SimDisk, wounds: &[Wound], seals: &[Seal]) -> Verdict<Outcome> {
    let engine = match open(disk, &patient.options) {
        Ok(engine) => engine,
        Err(error) => {
            check_typed("opening", &error)?;
            // Behind a torn tail the opening has written a log of its own.
            let is_torn = torn_at(wounds, seals).is_some();
            return if is_torn { Ok(Outcome::Refused) } else { heal(patient, disk, wounds) };
        }
    };
    if engine.tables().iter().map(String::as_str).ne(patient.contents.tables())
        && torn_at(wounds, seals).is_none()
    {
        let detail = format!("the tables are {:?}", engine.tables());
        return Err(Violation::new(Oracle::Prefix, detail));
    }
    let found = match read_state(&engine) {
        Ok(found) => found,
        Err(error) => {
            check_typed("reading", &error)?;
            drop(engine);
            check_later(patient, disk, None)?;
            return Ok(Outcome::Met);
        }
    };
    let torn = match patient.contents.difference(&found) {
        None => false,
        Some(detail) => judge_torn(patient, &found, torn_at(wounds, seals), detail)?,
    };
    let met = match engine.verify() {
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
    check_later(patient, disk, Some(&found))?;
    Ok(match (torn, met) {
        (true, _) => Outcome::Torn,
        (_, true) => Outcome::Met,
        _ => Outcome::Same,
    })
}

/// Opening once more gives no other answer.
fn check_later(patient: &Patient, disk: &SimDisk, found: Option<&State>) -> Verdict {
    let later = open(disk, &patient.options).and_then(|engine| read_state(&engine));
    match (later, found) {
        (Err(error), _) => check_typed("opening again", &error),
        (Ok(later), Some(found)) => check_same(found, &later),
        (Ok(later), None) => check_same(&patient.contents, &later),
    }
}

/// The first damaged byte of the log, if no seal behind it says that it was durable once.
fn torn_at(wounds: &[Wound], seals: &[Seal]) -> Option<u64> {
    let spoken_for = |lsn: &u64| seals.iter().any(|seal| seal.group > *lsn && seal.durable > *lsn);
    wounds.iter().filter_map(Wound::lsn).filter(|lsn| !spoken_for(lsn)).min()
}

/// A shorter history is right if it ends where no seal speaks for the log.
fn judge_torn(
    patient: &Patient,
    found: &State,
    torn_at: Option<u64>,
    difference: String,
) -> Verdict<bool> {
    let Some(lsn) = torn_at else {
        return Err(Violation::new(Oracle::Prefix, difference));
    };
    let appended = patient.bounds.appended;
    let whole = (0..=appended).rev().find(|&count| patient.history.lsn_of(count) <= Lsn(lsn));
    let acknowledged = whole.unwrap_or(0).min(patient.bounds.acknowledged);
    let bounds = Bounds { acknowledged, appended };
    patient.history.judge(found, bounds).map(|_| true)
}

/// A failed opening loses nothing: with the damage undone, everything is there. Unless the damage
/// was overwritten meanwhile.
fn heal(patient: &Patient, disk: &SimDisk, wounds: &[Wound]) -> Verdict<Outcome> {
    let io = |error: Error| Violation::unexpected("healing", &error);
    for wound in wounds.iter().rev() {
        if !wound.is_open(disk).map_err(io)? {
            return Ok(Outcome::Refused);
        }
        wound.heal(disk).map_err(io)?;
    }
    let healed = open(disk, &patient.options).and_then(|engine| read_state(&engine));
    let healed = healed.map_err(|error| Violation::unexpected("healed, opened", &error))?;
    check_same(&patient.contents, &healed)?;
    Ok(Outcome::Refused)
}

/// Damage is called damage.
pub(super) fn check_typed(what: &str, error: &Error) -> Verdict {
    match error {
        Error::Corrupt { .. } | Error::CorruptPage { .. } | Error::NotADatabase { .. } => Ok(()),
        // A sector of another place may be a whole label, or a whole first record of an epoch.
        Error::ForeignLog { .. } => Ok(()),
        Error::Poisoned { cause } | Error::DropUnfinished { cause, .. } => check_typed(what, cause),
        error => Err(Violation::unexpected(what, error)),
    }
}
