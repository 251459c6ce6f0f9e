//! The definition of an experiment. `frame` runs it, and `report` prints the findings.
//!
//! An experiment is a file in `experiments` with a type that implements [`Experiment`], and a line
//! in the list there. The type is the experiment's command-line options. It defines
//!
//! - its grids: the points at which its variants are compared, and the variants;
//! - how one run of a variant at a point is measured;
//! - its cases, whose instructions are counted;
//! - its claims: statements that the measurements must satisfy, each with a bound.
//!
//! The order of runs, counting, ratios, tables and files are the same for all experiments.

use std::{error::Error, fmt::Display, time::Duration};

use clap::{ArgMatches, Args, Command};

use crate::{
    callgrind::{Case, Counts},
    frame,
    variants::Samples,
};
pub(crate) use crate::{report::Findings, variants::Sample};

/// The result of a part of an experiment. No caller distinguishes between the kinds of error.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The description of an experiment.
pub(crate) struct About {
    /// The command that runs it.
    pub(crate) name: &'static str,
    /// The paper and the figure that it reproduces.
    pub(crate) source: &'static str,
    /// The statement that it must show, as one sentence.
    pub(crate) shows: &'static str,
    /// The default time that each variant runs in each repetition, in seconds. Chosen so that the
    /// whole experiment ends within three minutes.
    pub(crate) seconds: f64,
    /// The default number of runs of each variant.
    pub(crate) repetitions: u32,
}

/// One experiment. The implementing type is the set of its own options.
pub(crate) trait Experiment: Args {
    const ABOUT: About;
    /// The cases whose instructions are counted, if there are any.
    const CASES: &'static [Case] = &[];
    /// A setting at which the variants are compared.
    type Point;
    /// One of the alternatives that are compared.
    type Variant;

    /// Reports the settings: the experiment's own options and the paper's corresponding ones.
    /// Returns the grids, each of which is measured separately. Called once, before the first run;
    /// conditions that need only one check are claimed here.
    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>>;

    /// Returns the grid of the counts of [`CASES`](Experiment::CASES), if they form one: the cases
    /// in the grid's order, all variants of the first point first.
    fn counted(&self) -> Option<Grid<(), ()>> {
        None
    }

    /// Runs one variant once.
    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample>;

    /// Compares the measurements with the claims.
    fn claims(&self, seen: &Seen<'_>, found: &mut Findings);
}

/// The time and the number of runs, and the instruction counts taken before the first run.
pub(crate) struct Lab {
    /// The time that each variant runs in each repetition.
    pub(crate) time: Duration,
    /// The number of runs of each variant.
    pub(crate) repetitions: u32,
    /// The instruction counts of the experiment's cases.
    pub(crate) counts: Counts,
}

/// The grids of an experiment.
pub(crate) type Grids<E> = Vec<Grid<<E as Experiment>::Point, <E as Experiment>::Variant>>;

/// Points and variants, and how the ratios between their runs are taken.
pub(crate) struct Grid<P, V> {
    pub(crate) title: String,
    /// The measure whose ratios are shown.
    pub(crate) measure: &'static str,
    /// The variant that the others are divided by.
    pub(crate) baseline: usize,
    /// The points, each with its name.
    pub(crate) points: Vec<(String, P)>,
    pub(crate) variants: Vec<(String, V)>,
}

impl<P, V> Grid<P, V> {
    /// A grid whose first variant is the baseline.
    pub(crate) fn new(
        title: impl Into<String>,
        measure: &'static str,
        points: impl IntoIterator<Item = (impl Display, P)>,
        variants: impl IntoIterator<Item = (impl Display, V)>,
    ) -> Grid<P, V> {
        let points = points.into_iter().map(|(name, point)| (name.to_string(), point)).collect();
        let variants = variants.into_iter().map(|(name, variant)| (name.to_string(), variant));
        let title = title.into();
        Grid { title, measure, baseline: 0, points, variants: variants.collect() }
    }

    /// Returns the grid with another variant as the baseline.
    pub(crate) fn over(self, baseline: usize) -> Grid<P, V> {
        Grid { baseline, ..self }
    }
}

/// The parameters of one run.
pub(crate) struct Run<'a, E: Experiment> {
    pub(crate) lab: &'a Lab,
    pub(crate) point: &'a E::Point,
    pub(crate) variant: &'a E::Variant,
    /// The number of the repetition. It seeds the random numbers, so that all variants of a
    /// repetition draw the same ones.
    pub(crate) repetition: u32,
}

/// The measurements and counts of an experiment.
pub(crate) struct Seen<'a> {
    pub(crate) lab: &'a Lab,
    /// The counts, if they form a grid and were taken.
    pub(crate) counted: Option<Samples>,
    /// The grids in the experiment's order.
    pub(crate) grids: Vec<Samples>,
}

/// An experiment in the list of experiments.
pub(crate) struct Entry {
    pub(crate) about: About,
    /// Adds the experiment's own options to a command.
    pub(crate) options: fn(Command) -> Command,
    pub(crate) cases: &'static [Case],
    /// Runs the experiment with the given options.
    pub(crate) run: fn(Lab, &ArgMatches) -> Outcome<Findings>,
}

impl Entry {
    pub(crate) const fn of<E: Experiment>() -> Entry {
        Entry { about: E::ABOUT, options: E::augment_args, cases: E::CASES, run: frame::run::<E> }
    }
}
