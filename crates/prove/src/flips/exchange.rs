//! The log of a copy beside the data: two copies of a database are used apart from each other, in
//! the same way, and then each log must be refused beside the other's data.

use clearway_base::{Error, Result};
use clearway_disk::{Disk, OpenMode};
use clearway_testkit::disk::{CrashImage, SimDisk};

use super::{
    judge::{Outcome, check_typed},
    patient::{Patient, open},
};
use crate::{
    oracles::{Oracle, Verdict, Violation, check_same, read_state},
    random::Random,
};

const TABLE: &str = "of a copy";

/// Makes two copies, uses them, exchanges their logs.
///
/// # Errors
/// What is wrong.
pub(super) fn examine(patient: &Patient, random: &mut Random) -> Verdict<Outcome> {
    let failed = |error: Error| Violation::unexpected("using a copy", &error);
    let (closes, commits) = (random.one_in(2), random.between(1, 4));
    let seeds = [random.next_u64(), random.next_u64()];
    let [one, other] = seeds.map(|seed| {
        let disk = patient.disk.fork();
        disk.reseed(seed);
        use_copy(patient, &disk, (seed, commits), closes)
    });
    let (one, other) = (one.map_err(failed)?, other.map_err(failed)?);
    let mixed = with_log_of(&one, &other).map_err(failed)?;
    match open(&mixed, &patient.options) {
        Err(error) => check_typed("opening", &error)?,
        Ok(_) => {
            let detail = format!("the log of a copy is taken for its own [{}]", patient.name);
            return Err(Violation::new(Oracle::Answer, detail));
        }
    }
    // Beside its own log, what was refused is whole: nothing was lost by the attempt.
    let restored = with_log_of(&mixed, &one).map_err(failed)?;
    let says = |disk: &SimDisk| open(disk, &patient.options).and_then(|engine| read_state(&engine));
    check_same(&says(&one).map_err(failed)?, &says(&restored).map_err(failed)?)?;
    Ok(Outcome::Refused)
}

/// Opens a copy and writes rows of its own to it. Answers what is left of it.
fn use_copy(
    patient: &Patient,
    disk: &SimDisk,
    (mark, commits): (u64, u64),
    closes: bool,
) -> Result<SimDisk> {
    let engine = open(disk, &patient.options)?;
    let table = engine.create_table(TABLE)?;
    for number in 0..commits {
        let mut txn = engine.begin();
        txn.put(&table, &number.to_be_bytes(), &mark.to_be_bytes())?;
        engine.log().wait_durable(txn.commit()?.ack)?;
    }
    if closes {
        engine.close()?;
    } else {
        disk.cut_power();
    }
    drop((table, engine));
    Ok(disk.crash(CrashImage::KeepAll))
}

/// The data of one disk, and the log of another.
fn with_log_of(data: &SimDisk, log: &SimDisk) -> Result<SimDisk> {
    let disk = data.fork();
    for name in disk.list("log")? {
        disk.remove(&format!("log/{name}"))?;
    }
    for name in log.list("log")? {
        let name = format!("log/{name}");
        let source = log.open(&name, OpenMode::Existing)?;
        let mut bytes = vec![0; source.len()? as usize];
        source.read_at(&mut bytes, 0)?;
        let target = disk.open(&name, OpenMode::CreateNew)?;
        target.write_at(&bytes, 0)?;
        target.sync_all()?;
    }
    disk.sync_dir("log")?;
    Ok(disk)
}
