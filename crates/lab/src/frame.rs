//! Runs an experiment in this order: its plan, the runs of its grids, its claims. The instructions
//! of its cases were counted before.

use clap::ArgMatches;

use crate::{
    experiment::{Experiment, Grid, Lab, Outcome, Run, Seen},
    report::Findings,
    variants::Samples,
};

/// Runs `E` with the given options of its own.
pub(crate) fn run<E: Experiment>(lab: Lab, given: &ArgMatches) -> Outcome<Findings> {
    let (experiment, lab) = (E::from_arg_matches(given)?, &lab);
    let mut found = Findings::default();
    let grids = experiment.plan(lab, &mut found)?;
    let counted = match experiment.counted() {
        Some(grid) => count_grid(lab, &grid)?,
        None => None,
    };
    let grids: Outcome<_> = grids.iter().map(|grid| measure(&experiment, lab, grid)).collect();
    let seen = Seen { lab, counted, grids: grids? };
    experiment.claims(&seen, &mut found);
    found.grids = seen.counted.into_iter().chain(seen.grids).collect();
    Ok(found)
}

/// Performs all runs of one grid.
fn measure<E: Experiment>(
    experiment: &E,
    lab: &Lab,
    grid: &Grid<E::Point, E::Variant>,
) -> Outcome<Samples> {
    Samples::take(grid, lab.repetitions, |(name, point), (variant_name, variant), repetition| {
        let (number, repetitions) = (repetition + 1, lab.repetitions);
        clearway_console::tell!("{number} of {repetitions}: {name}, {variant_name}");
        experiment.measure(&Run { lab, point, variant, repetition })
    })
}

/// Returns the counts of all cases as a grid, or `None` if nothing was counted.
fn count_grid(lab: &Lab, grid: &Grid<(), ()>) -> Outcome<Option<Samples>> {
    let Some(counts) = lab.counts.all() else { return Ok(None) };
    let mut counts = counts.into_iter();
    let samples = Samples::take(grid, 1, |_, _, _| {
        Ok(vec![(grid.measure, counts.next().ok_or("a case is missing")?)])
    });
    samples.map(Some)
}
