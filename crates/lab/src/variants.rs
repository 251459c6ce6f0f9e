//! Measuring variants against each other on a machine that does other things too.
//!
//! Invariants:
//! - V1. In each repetition every variant of every point runs once; variants of one point run
//!   directly after one another. A drift of the machine hits all of them alike.
//! - V2. No variant always runs first: the order turns by one with each repetition.
//! - V3. A ratio is taken between two runs of the *same* repetition. Its median, least and greatest
//!   value are over repetitions; ratios of medians are never shown.
//!
//! An experiment is a grid: *points* (settings at which the variants are compared, such as a share
//! of reads) by *variants*. Each run gives a few named numbers, its *measures*.

use crate::experiment::Outcome;

/// What one run measured: numbers by name, the same names in the same order each time.
pub(crate) type Sample = Vec<(&'static str, f64)>;

/// All runs of a grid.
pub(crate) struct Samples {
    pub(crate) points: Vec<String>,
    pub(crate) variants: Vec<String>,
    /// By point, variant and repetition.
    runs: Vec<Vec<Vec<Sample>>>,
}

/// Median, least and greatest of a few numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Of `values`; all zero if there are none.
    pub(crate) fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Spread { median: 0.0, min: 0.0, max: 0.0 };
        };
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Spread { median, min, max }
    }
}

impl Samples {
    /// Runs the grid `repetitions` times. `run` is given the numbers of point, variant and
    /// repetition.
    pub(crate) fn take(
        points: Vec<String>,
        variants: Vec<String>,
        repetitions: u32,
        mut run: impl FnMut(usize, usize, u32) -> Outcome<Sample>,
    ) -> Outcome<Samples> {
        let empty = vec![vec![Vec::new(); variants.len()]; points.len()];
        let mut samples = Samples { points, variants, runs: empty };
        for repetition in 0..repetitions {
            for point in 0..samples.points.len() {
                for variant in turn(samples.variants.len(), repetition) {
                    samples.tell(point, variant, repetition, repetitions);
                    let sample = run(point, variant, repetition)?;
                    samples.runs[point][variant].push(sample);
                }
            }
        }
        Ok(samples)
    }

    /// Says on standard error what runs now.
    fn tell(&self, point: usize, variant: usize, repetition: u32, repetitions: u32) {
        let (point, variant) = (&self.points[point], &self.variants[variant]);
        clearway_console::tell!("{} of {repetitions}: {point}, {variant}", repetition + 1);
    }

    /// The names of the measures.
    pub(crate) fn measures(&self) -> Vec<&'static str> {
        let first = self.runs.iter().flatten().flatten().next();
        first.map(|sample| sample.iter().map(|(name, _)| *name).collect()).unwrap_or_default()
    }

    /// One measure of one variant at one point, by repetition.
    ///
    /// # Panics
    /// If there is no such measure.
    pub(crate) fn values(&self, point: usize, variant: usize, measure: &str) -> Vec<f64> {
        let value = |sample: &Sample| {
            let found = sample.iter().find(|(name, _)| *name == measure);
            found.unwrap_or_else(|| panic!("{measure} was not measured")).1
        };
        self.runs[point][variant].iter().map(value).collect()
    }

    /// The same over all repetitions.
    pub(crate) fn spread(&self, point: usize, variant: usize, measure: &str) -> Spread {
        Spread::of(&self.values(point, variant, measure))
    }

    /// A variant over another at the same point, ratio by ratio (V3).
    pub(crate) fn ratio(
        &self,
        point: usize,
        variant: usize,
        baseline: usize,
        measure: &str,
    ) -> Spread {
        self.ratio_at(&[point], variant, baseline, measure)
    }

    /// The same over the repetitions of several points, for a claim about all of them together.
    pub(crate) fn ratio_at(
        &self,
        points: &[usize],
        variant: usize,
        baseline: usize,
        measure: &str,
    ) -> Spread {
        let mut ratios = Vec::new();
        for &point in points {
            let above = self.values(point, variant, measure);
            let below = self.values(point, baseline, measure);
            ratios.extend(above.iter().zip(&below).map(|(a, b)| ratio(*a, *b)));
        }
        Spread::of(&ratios)
    }

    /// A variant at one point over the same variant at another, ratio by ratio (V3).
    pub(crate) fn ratio_of_points(
        &self,
        variant: usize,
        point: usize,
        baseline: usize,
        measure: &str,
    ) -> Spread {
        let (above, below) =
            (self.values(point, variant, measure), self.values(baseline, variant, measure));
        let ratios: Vec<f64> = above.iter().zip(&below).map(|(a, b)| ratio(*a, *b)).collect();
        Spread::of(&ratios)
    }
}

/// `above / below`; of two zeros 1, since they are alike.
fn ratio(above: f64, below: f64) -> f64 {
    if above == below { 1.0 } else { above / below }
}

/// The numbers below `count`, beginning with another one in each repetition (V2).
fn turn(count: usize, repetition: u32) -> impl Iterator<Item = usize> {
    (0..count).map(move |n| (n + repetition as usize) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_has_the_middle_and_the_ends() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]), Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(Spread::of(&[7.0]), Spread { median: 7.0, min: 7.0, max: 7.0 });
        assert_eq!(Spread::of(&[]), Spread { median: 0.0, min: 0.0, max: 0.0 });
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ratios_are_taken_within_a_repetition() {
        // The machine gets ten times slower from run to run of the grid; the second variant is
        // always twice the first. Ratios of medians would be 2 as well; of means, too; but taken
        // across repetitions they would be 20 or 0.2.
        let samples =
            Samples::take(names(&["p"]), names(&["a", "b"]), 3, |_, variant, repetition| {
                let machine = 10f64.powi(repetition as i32);
                Ok(vec![("tps", machine * (variant + 1) as f64)])
            });
        let samples = samples.unwrap();
        assert_eq!(samples.ratio(0, 1, 0, "tps"), Spread { median: 2.0, min: 2.0, max: 2.0 });
        assert_eq!(samples.spread(0, 1, "tps"), Spread { median: 20.0, min: 2.0, max: 200.0 });
    }

    #[test]
    fn the_median_ratio_is_no_ratio_of_medians() {
        let (above, below) = ([1.0, 10.0, 100.0], [1.0, 1.0, 50.0]);
        let samples = Samples::take(names(&["p"]), names(&["a", "b"]), 3, |_, variant, n| {
            let values = if variant == 0 { below } else { above };
            Ok(vec![("x", values[n as usize])])
        });
        let ratio = samples.unwrap().ratio(0, 1, 0, "x");
        assert_eq!(ratio, Spread { median: 2.0, min: 1.0, max: 10.0 });
    }

    #[test]
    fn ratios_of_several_points_are_pooled() {
        let points = names(&["p", "q"]);
        let samples = Samples::take(points, names(&["a", "b"]), 2, |point, variant, repetition| {
            let above = (2 * point + repetition as usize + 1) as f64; // 1, 2 and 3, 4
            Ok(vec![("x", if variant == 0 { 1.0 } else { above })])
        });
        let ratio = samples.unwrap().ratio_at(&[0, 1], 1, 0, "x");
        assert_eq!(ratio, Spread { median: 2.5, min: 1.0, max: 4.0 });
    }

    #[test]
    fn points_are_compared_within_a_repetition_too() {
        let points = names(&["p", "q"]);
        let samples = Samples::take(points, names(&["a", "b"]), 3, |point, variant, repetition| {
            let machine = 10f64.powi(repetition as i32);
            Ok(vec![("x", machine * (3 * point + variant + 1) as f64)]) // 1, 2 and 4, 5
        });
        let samples = samples.unwrap();
        assert_eq!(samples.ratio_of_points(0, 1, 0, "x").median, 4.0);
        assert_eq!(
            samples.ratio_of_points(1, 1, 0, "x"),
            Spread { median: 2.5, min: 2.5, max: 2.5 }
        );
    }

    #[test]
    fn variants_run_in_turn_and_take_turns_in_going_first() {
        let mut order = Vec::new();
        let points = names(&["p", "q"]);
        Samples::take(points, names(&["a", "b"]), 2, |point, variant, repetition| {
            order.push((repetition, point, variant));
            Ok(vec![])
        })
        .unwrap();
        let first = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)];
        let second = [(1, 0, 1), (1, 0, 0), (1, 1, 1), (1, 1, 0)];
        assert_eq!(order, [first, second].concat());
    }

    #[test]
    fn what_is_nowhere_is_alike_everywhere() {
        assert_eq!((ratio(0.0, 0.0), ratio(6.0, 3.0)), (1.0, 2.0));
        assert_eq!(ratio(1.0, 0.0), f64::INFINITY);
    }

    #[test]
    fn a_failure_ends_the_run() {
        let failed = Samples::take(names(&["p"]), names(&["a"]), 2, |_, _, _| Err("no".into()));
        assert!(failed.is_err());
    }
}
