//! The databases that are damaged, and what they say while they are not.

use std::{collections::BTreeSet, sync::Arc};

use clearway_base::{PageId, Result};
use clearway_disk::Disk;
use clearway_testkit::Pattern;
use clearway_testkit::disk::{CrashImage, SimDisk};
use clearway_txn::{Creation, Engine, EngineOptions};

use super::beside::{self, Owners};
use crate::{
    cases::Held,
    images::{Cut, Performance, Standing},
    oracles::{Bounds, History, State, Verdict, Violation, read_state},
    random::Random,
};

/// So many killed databases are taken from each script.
const KILLED_PER_SCRIPT: usize = 9;

/// A database on a disk that nobody has open.
pub(super) struct Patient {
    /// Where it comes from.
    pub(super) name: String,
    pub(super) disk: SimDisk,
    pub(super) options: EngineOptions,
    pub(super) history: History,
    pub(super) bounds: Bounds,
    /// The pattern of its keys, if they follow one.
    pub(super) pattern: Option<Pattern>,
    /// Whose pages are whose, if it was closed in order.
    pub(super) owners: Option<Owners>,
    /// What it says.
    pub(super) contents: State,
}

impl Patient {
    /// Those that a script gives: closed in order, and killed at several places.
    ///
    /// # Errors
    /// If one of them is not well.
    pub(super) fn all_of(performance: &Performance) -> Verdict<Vec<Patient>> {
        let history = performance.histories.last().expect("there is one at least");
        let bounds = history.bounds();
        let all = Bounds { acknowledged: bounds.appended, ..bounds };
        let of = |disk, history, bounds, what: String| {
            let name = format!("{} {what}", performance.stage.name());
            let patient = Patient::new(name, disk, &performance.options, (history, bounds))?;
            Ok(Patient { pattern: performance.stage.pattern(), ..patient })
        };
        let mut patients = Vec::new();
        if performance.histories.len() == 1 {
            patients.push(of(performance.closed.fork(), history, all, "closed".into())?);
        }
        // Later eras have forgotten where the commits of those before them stand in the log.
        let killed = |cut: &&Cut| {
            cut.is_change && cut.moment.standing == Standing::Whole && cut.moment.era == 0
        };
        let cuts: Vec<_> = performance.cuts.iter().filter(killed).collect();
        for nth in 0..KILLED_PER_SCRIPT.min(cuts.len()) {
            let cut = cuts[(nth + 1) * cuts.len() / KILLED_PER_SCRIPT - 1];
            let image = match nth % 3 {
                0 => CrashImage::KeepAll,
                1 => CrashImage::TearAll(nth as u64),
                _ => CrashImage::Random(nth as u64),
            };
            let (disk, history) = (cut.disk.crash(image), &performance.histories[cut.moment.era]);
            let what = format!("killed at {} {image:?}", cut.what);
            let killed = of(disk, history, cut.moment.bounds, what)?;
            patients.push(Patient { owners: None, ..killed });
        }
        Ok(patients)
    }

    fn new(
        name: String,
        disk: SimDisk,
        options: &EngineOptions,
        (history, bounds): (&History, Bounds),
    ) -> Verdict<Patient> {
        let options = EngineOptions { create: Creation::Never, ..options.clone() };
        let unwell = |error| Violation::unexpected(&format!("{name}, not damaged"), &error);
        let engine = open(&disk.fork(), &options).map_err(unwell)?;
        let contents = read_state(&engine).map_err(unwell)?;
        let owners = beside::owners(&engine).map_err(unwell)?;
        drop(engine);
        history.judge(&contents, bounds)?;
        let (history, pattern, owners) = (history.clone(), None, Some(owners));
        Ok(Patient { name, disk, options, history, bounds, pattern, owners, contents })
    }
}

impl Patient {
    /// Whether it was closed in order and has more than one table with rows.
    pub(super) fn has_tables_beside(&self) -> bool {
        let Some(owners) = &self.owners else { return false };
        owners.values().any(|name| Some(name) != owners.values().next())
    }

    /// The pages of one of several tables, so that the others must stay as they are; `None` for a
    /// database with fewer tables, and for half of the others.
    pub(super) fn pages_of_one_table(&self, random: &mut Random) -> Option<Vec<PageId>> {
        if !self.has_tables_beside() || random.one_in(2) {
            return None;
        }
        let owners = self.owners.as_ref()?;
        let names: BTreeSet<&String> = owners.values().collect();
        let name = random.pick(&names.into_iter().collect::<Vec<_>>());
        Some(owners.iter().filter(|(_, owner)| *owner == name).map(|(page, _)| *page).collect())
    }
}

/// Opens a database.
pub(super) fn open(disk: &SimDisk, options: &EngineOptions) -> Result<Held<Arc<Engine>>> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, options.clone()).map(Held::new)
}
