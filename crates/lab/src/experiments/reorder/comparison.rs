//! The comparison of original and reordered programs, as grids of an experiment.

use std::{cell::RefCell, time::Duration};

use super::{
    prepared::Prepared,
    programs::Driven,
    site::{Setting, Site},
    workload::{System, Workload},
};
use crate::experiment::{Findings, Lab, Outcome};

/// A setting, and the number of its programs among those that were prepared.
pub(crate) struct Point {
    pub(crate) setting: Setting<'static>,
    pub(crate) programs: usize,
}

/// The program that runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Variant {
    Original,
    Reordered,
}

/// The numbers of the variants in a grid.
pub(crate) const ORIGINAL: usize = 0;
pub(crate) const REORDERED: usize = 1;

/// Returns the variants of a grid, the original first.
pub(crate) fn variants() -> [(&'static str, Variant); 2] {
    [("original", Variant::Original), ("reordered", Variant::Reordered)]
}

/// The site of an experiment and its programs, from the plan to the last run.
#[derive(Default)]
pub(crate) struct Comparison(RefCell<Option<(Site, Vec<Prepared>)>>);

impl Comparison {
    /// Keeps what the plan has prepared, and reports how the orders were found.
    pub(crate) fn begin(&self, site: Site, prepared: Vec<Prepared>, found: &mut Findings) {
        let orders: Vec<&str> = prepared.iter().map(|one| one.summary.as_str()).collect();
        found.setting("orders", orders.join("\n    "));
        *self.0.borrow_mut() = Some((site, prepared));
    }

    /// Calls `use_site` with what the plan has prepared.
    pub(crate) fn with<T>(
        &self,
        use_site: impl FnOnce(&mut Site, &[Prepared]) -> Outcome<T>,
    ) -> Outcome<T> {
        match &mut *self.0.borrow_mut() {
            Some((site, prepared)) => use_site(site, prepared),
            None => Err("the experiment has no plan".into()),
        }
    }

    /// Runs one variant at one point. All variants of a repetition draw the same inputs.
    pub(crate) fn drive(
        &self,
        point: &Point,
        variant: Variant,
        repetition: u32,
    ) -> Outcome<Driven> {
        self.with(|site, prepared| {
            let programs = &prepared[point.programs];
            let program = match variant {
                Variant::Original => &programs.original,
                Variant::Reordered => &programs.reordered,
            };
            let driven = site.drive(&Setting { seed: repetition, ..point.setting }, program)?;
            let Driven { tps, mean_ms, busy, .. } = driven;
            let name = format!("{variant:?}").to_lowercase();
            let busy = 100.0 * busy;
            clearway_console::tell!(
                "{} {name}: {tps:.1}/s, mean {mean_ms:.1} ms, {busy:.0} % busy",
                point.setting.name()
            );
            Ok(driven)
        })
    }
}

/// Returns a setting with the time of the lab, at the workload's highest contention.
pub(crate) fn setting(
    lab: &Lab,
    system: System,
    workload: &'static Workload,
    clients: u32,
    delay_us: u32,
) -> Setting<'static> {
    let (size, time) = (workload.sizes[0], lab.time.max(Duration::from_millis(1)));
    Setting { system, workload, clients, size, delay_us, time, seed: 0, options: "" }
}

/// Reports the settings that all experiments on reordering share.
pub(crate) fn report_settings(found: &mut Findings) {
    found.setting("the paper's machine", "128 processors, MySQL 5.5, clients on the same machine");
    found.setting("flushing at commit", "off, as in the paper");
    found.setting("deadlocks", "found at once by MariaDB, by PostgreSQL after 100 ms");
    found.setting("isolation", "the servers' defaults; rewritten with --relaxed-reads");
    found.setting(
        "programs",
        "crates/reorder/examples; trade update reads each trade once, as in the paper",
    );
}
