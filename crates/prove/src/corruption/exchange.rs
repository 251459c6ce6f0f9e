//! The log of another copy beside the data: two copies of a database are used independently of each
//! other, in the same way. Then the engine must refuse the log of one beside the data of the other.

use clearway_base::{Error, Result};
use clearway_disk::{Disk, OpenMode};
use clearway_testkit::Random;
use clearway_testkit::disk::{CrashImage, SimDisk};

use super::{
    judge::{Outcome, check_typed},
    original::{Original, open},
};
use crate::oracles::{Oracle, Verdict, Violation, check_same, read_state};

const TABLE: &str = "of a copy";

/// Makes two copies, uses both, and opens the data of one with the log of the other.
///
/// # Errors
/// A violation, such as a log that is accepted beside the data of the other copy.
pub(super) fn examine(original: &Original, random: &mut Random) -> Verdict<Outcome> {
    let failed = |error: Error| Violation::unexpected("using a copy", &error);
    let (closes, commits) = (random.one_in(2), random.between(1, 4));
    let seeds = [random.next_u64(), random.next_u64()];
    let [one, other] = seeds.map(|seed| {
        let disk = original.disk.fork();
        disk.reseed(seed);
        use_copy(original, &disk, (seed, commits), closes)
    });
    let (one, other) = (one.map_err(failed)?, other.map_err(failed)?);
    let mixed = with_log_of(&one, &other).map_err(failed)?;
    match open(&mixed, &original.options) {
        Err(error) => check_typed("opening", &error)?,
        Ok(_) => {
            let detail = format!("the log of a copy is taken for its own [{}]", original.name);
            return Err(Violation::new(Oracle::Answer, detail));
        }
    }
    // With its own log the database opens again and is complete: the refused attempt lost nothing.
    let restored = with_log_of(&mixed, &one).map_err(failed)?;
    let contents = |disk: &SimDisk| open(disk, &original.options).and_then(|e| read_state(&e));
    check_same(&contents(&one).map_err(failed)?, &contents(&restored).map_err(failed)?)?;
    Ok(Outcome::Refused)
}

/// Opens a copy, writes rows with its own `mark` to it, and returns its disk after the close or the
/// power cut that follows.
fn use_copy(
    original: &Original,
    disk: &SimDisk,
    (mark, commits): (u64, u64),
    closes: bool,
) -> Result<SimDisk> {
    let engine = open(disk, &original.options)?;
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

/// Returns a disk with the data of one disk and the log of another.
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
