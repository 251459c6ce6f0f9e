//! What an experiment defines; `frame` runs it and `report` prints what was found.
//!
//! An experiment is a file in `experiments` with a type that implements [`Experiment`], and a line
//! in the list there. The type is the experiment's command-line options. It defines
//!
//! - its grids: the points at which its variants are compared, and the variants;
//! - how one run of a variant at a point is measured;
//! - its cases, whose instructions are counted;
//! - its claims: what must be seen in the measurements, each with a bound.
//!
//! Taking turns, counting, ratios, tables and files are the same for all experiments.

use std::{error::Error, fmt::Display, time::Duration};

use clap::{ArgMatches, Args, Command};

use crate::{
    callgrind::{Case, Counts},
    frame,
    variants::Samples,
};
pub(crate) use crate::{report::Findings, variants::Sample};

/// Experiments fail for many reasons, which no code tells apart.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What is known of an experiment before it runs.
pub(crate) struct About {
    /// The command that runs it.
    pub(crate) name: &'static str,
    /// The paper and the figure that it is after.
    pub(crate) source: &'static str,
    /// What it must show, in a sentence.
    pub(crate) shows: &'static str,
    /// How long each variant runs in each repetition by default, in seconds. Chosen so that the
    /// whole experiment ends within three minutes.
    pub(crate) seconds: f64,
    /// How often each variant runs by default.
    pub(crate) repetitions: u32,
}

/// One experiment. The implementing type is the set of its own options.
pub(crate) trait Experiment: Args {
    const ABOUT: About;
    /// What instructions are counted of, if anything.
    const CASES: &'static [Case] = &[];
    /// A setting at which the variants are compared.
    type Point;
    /// What is compared.
    type Variant;

    /// Reports the settings: the experiment's own options, and what corresponds to them in the
    /// paper. Returns the grids, each of which is measured by itself. Called once, before the first
    /// run; what is checked once is claimed here.
    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>>;

    /// The grid that the counts of [`CASES`](Experiment::CASES) form, if they form one: the cases
    /// in its order, all variants of the first point first.
    fn counted(&self) -> Option<Grid<(), ()>> {
        None
    }

    /// Runs one variant once.
    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample>;

    /// Compares what was seen with what must be seen.
    fn claims(&self, seen: &Seen<'_>, found: &mut Findings);
}

/// How long and how often variants run, and what was counted before.
pub(crate) struct Lab {
    /// How long each variant runs in each repetition.
    pub(crate) time: Duration,
    /// How often each variant runs.
    pub(crate) repetitions: u32,
    /// The instructions of the experiment's cases.
    pub(crate) counts: Counts,
}

/// The grids of an experiment.
pub(crate) type Grids<E> = Vec<Grid<<E as Experiment>::Point, <E as Experiment>::Variant>>;

/// Points by variants, and how their runs are read.
pub(crate) struct Grid<P, V> {
    pub(crate) title: &'static str,
    /// The measure whose ratios are shown.
    pub(crate) measure: &'static str,
    /// The variant that the others are divided by.
    pub(crate) baseline: usize,
    /// Each with its name.
    pub(crate) points: Vec<(String, P)>,
    pub(crate) variants: Vec<(String, V)>,
}

impl<P, V> Grid<P, V> {
    /// A grid whose first variant is the baseline.
    pub(crate) fn new(
        title: &'static str,
        measure: &'static str,
        points: impl IntoIterator<Item = (impl Display, P)>,
        variants: impl IntoIterator<Item = (impl Display, V)>,
    ) -> Grid<P, V> {
        let points = points.into_iter().map(|(name, point)| (name.to_string(), point)).collect();
        let variants = variants.into_iter().map(|(name, variant)| (name.to_string(), variant));
        Grid { title, measure, baseline: 0, points, variants: variants.collect() }
    }

    /// The same with another variant as the baseline.
    pub(crate) fn over(self, baseline: usize) -> Grid<P, V> {
        Grid { baseline, ..self }
    }
}

/// What is to be run once.
pub(crate) struct Run<'a, E: Experiment> {
    pub(crate) lab: &'a Lab,
    pub(crate) point: &'a E::Point,
    pub(crate) variant: &'a E::Variant,
    /// The seed of what is drawn at random, so that the variants of a repetition draw the same.
    pub(crate) repetition: u32,
}

/// What was measured and counted.
pub(crate) struct Seen<'a> {
    pub(crate) lab: &'a Lab,
    /// The counts, if they form a grid and were taken.
    pub(crate) counted: Option<Samples>,
    /// The grids in the experiment's order.
    pub(crate) grids: Vec<Samples>,
}

/// An experiment in the list of all.
pub(crate) struct Entry {
    pub(crate) about: About,
    /// Adds the experiment's own options to a command.
    pub(crate) options: fn(Command) -> Command,
    pub(crate) cases: &'static [Case],
    /// Runs it with the options that were given.
    pub(crate) run: fn(Lab, &ArgMatches) -> Outcome<Findings>,
}

impl Entry {
    pub(crate) const fn of<E: Experiment>() -> Entry {
        Entry { about: E::ABOUT, options: E::augment_args, cases: E::CASES, run: frame::run::<E> }
    }
}
