//! The databases before they are corrupted, and their contents.

use std::{collections::BTreeSet, sync::Arc};

use clearway_base::{PageId, Result};
use clearway_disk::Disk;
use clearway_testkit::disk::{CrashImage, SimDisk};
use clearway_testkit::{Pattern, Random};
use clearway_txn::{Creation, Engine, EngineOptions};

use super::other_tables::{self, Owners};
use crate::{
    cases::Held,
    images::{Cut, Phase, Recording},
    oracles::{Bounds, History, State, Verdict, Violation, read_state},
};

/// The number of killed databases that are taken from each scenario.
const KILLED_PER_SCENARIO: usize = 9;

/// An undamaged database that is not open.
pub(super) struct Original {
    /// The scenario, and the point of it at which the database was taken.
    pub(super) name: String,
    pub(super) disk: SimDisk,
    pub(super) options: EngineOptions,
    pub(super) history: History,
    pub(super) bounds: Bounds,
    /// The pattern of its keys, if they follow one.
    pub(super) pattern: Option<Pattern>,
    /// The table of each page, if the database was closed in order.
    pub(super) owners: Option<Owners>,
    /// The contents as read from the undamaged database.
    pub(super) contents: State,
}

impl Original {
    /// Returns the databases of a scenario: one closed in order, and several killed at different
    /// points.
    ///
    /// # Errors
    /// If one of them does not open, or its contents contradict the history.
    pub(super) fn all_of(recording: &Recording) -> Verdict<Vec<Original>> {
        let history = recording.histories.last().expect("there is one at least");
        let bounds = history.bounds();
        let all = Bounds { acknowledged: bounds.appended, ..bounds };
        let of = |disk, history, bounds, what: String| {
            let name = format!("{} {what}", recording.setup.name());
            let original = Original::new(name, disk, &recording.options, (history, bounds))?;
            Ok(Original { pattern: recording.setup.pattern(), ..original })
        };
        let mut originals = Vec::new();
        if recording.histories.len() == 1 {
            originals.push(of(recording.closed.fork(), history, all, "closed".into())?);
        }
        // The histories of later eras do not contain the LSNs of the commits of earlier ones.
        let killed = |cut: &&Cut| {
            cut.is_change && cut.moment.phase == Phase::Complete && cut.moment.era == 0
        };
        let cuts: Vec<_> = recording.cuts.iter().filter(killed).collect();
        for nth in 0..KILLED_PER_SCENARIO.min(cuts.len()) {
            let cut = cuts[(nth + 1) * cuts.len() / KILLED_PER_SCENARIO - 1];
            let image = match nth % 3 {
                0 => CrashImage::KeepAll,
                1 => CrashImage::TearAll(nth as u64),
                _ => CrashImage::Random(nth as u64),
            };
            let (disk, history) = (cut.disk.crash(image), &recording.histories[cut.moment.era]);
            let what = format!("killed at {} {image:?}", cut.what);
            let killed = of(disk, history, cut.moment.bounds, what)?;
            originals.push(Original { owners: None, ..killed });
        }
        Ok(originals)
    }

    fn new(
        name: String,
        disk: SimDisk,
        options: &EngineOptions,
        (history, bounds): (&History, Bounds),
    ) -> Verdict<Original> {
        let options = EngineOptions { create: Creation::Never, ..options.clone() };
        let failed = |error| Violation::unexpected(&format!("{name}, not damaged"), &error);
        let engine = open(&disk.fork(), &options).map_err(failed)?;
        let contents = read_state(&engine).map_err(failed)?;
        let owners = other_tables::owners(&engine).map_err(failed)?;
        drop(engine);
        history.judge(&contents, bounds)?;
        let (history, pattern, owners) = (history.clone(), None, Some(owners));
        Ok(Original { name, disk, options, history, bounds, pattern, owners, contents })
    }
}

impl Original {
    /// Returns true if the database was closed in order and has more than one table with rows.
    pub(super) fn has_other_tables(&self) -> bool {
        let Some(owners) = &self.owners else { return false };
        owners.values().any(|name| Some(name) != owners.values().next())
    }

    /// Returns the pages of one of several tables, so that a corruption of them must leave the
    /// other tables unchanged. Returns `None` if the database does not have several tables, and in
    /// half of all other cases.
    pub(super) fn pages_of_one_table(&self, random: &mut Random) -> Option<Vec<PageId>> {
        if !self.has_other_tables() || random.one_in(2) {
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
