//! Compares the measurements of variants on a machine that also runs other programs.
//!
//! Invariants:
//! - LAB-VARIANTS-1. In each repetition every variant of every point runs once. The variants of one
//!   point run directly after one another, so that a drift of the machine affects all of them
//!   alike.
//! - LAB-VARIANTS-2. No variant always runs first: the order rotates by one with each repetition.
//! - LAB-VARIANTS-3. A ratio is taken between two runs of the *same* repetition. Its median,
//!   minimum and maximum are over repetitions; ratios of medians are never shown.

use crate::experiment::{Grid, Outcome};

/// The measurements of one run: numbers by name, with the same names in the same order each time.
pub(crate) type Sample = Vec<(&'static str, f64)>;

/// All runs of a grid, and how the ratios between them are taken.
pub(crate) struct Samples {
    pub(crate) title: String,
    /// The measure whose ratios are shown.
    pub(crate) measure: &'static str,
    /// The variant that the others are divided by.
    pub(crate) baseline: usize,
    /// The names of the points and of the variants.
    pub(crate) points: Vec<String>,
    pub(crate) variants: Vec<String>,
    /// The samples by point, variant and repetition.
    runs: Vec<Vec<Vec<Sample>>>,
}

/// The median, minimum and maximum of a few numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Returns the spread of `values`; all zero if there are none.
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

/// Returns the least of `values`; infinity if there are none.
pub(crate) fn least(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

/// Returns the greatest of `values`, which are not negative; 0 if there are none.
pub(crate) fn greatest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

/// Returns the names of the points or variants of a grid.
fn names<T>(named: &[(String, T)]) -> Vec<String> {
    named.iter().map(|(name, _)| name.clone()).collect()
}

impl Samples {
    /// Runs `grid` `repetitions` times. `run` receives a point and a variant with their names, and
    /// the number of the repetition.
    pub(crate) fn take<P, V>(
        grid: &Grid<P, V>,
        repetitions: u32,
        mut run: impl FnMut(&(String, P), &(String, V), u32) -> Outcome<Sample>,
    ) -> Outcome<Samples> {
        let mut runs = vec![vec![Vec::new(); grid.variants.len()]; grid.points.len()];
        for repetition in 0..repetitions {
            for (point, runs) in grid.points.iter().zip(&mut runs) {
                for variant in order(grid.variants.len(), repetition) {
                    runs[variant].push(run(point, &grid.variants[variant], repetition)?);
                }
            }
        }
        let Grid { measure, baseline, .. } = *grid;
        let title = grid.title.clone();
        let (points, variants) = (names(&grid.points), names(&grid.variants));
        Ok(Samples { title, measure, baseline, points, variants, runs })
    }

    /// Returns the names of the measures.
    pub(crate) fn measures(&self) -> Vec<&'static str> {
        let first = self.runs.iter().flatten().flatten().next();
        first.map(|sample| sample.iter().map(|(name, _)| *name).collect()).unwrap_or_default()
    }

    /// Returns one measure of one variant at one point, by repetition.
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

    /// Returns the spread of these values.
    pub(crate) fn spread(&self, point: usize, variant: usize, measure: &str) -> Spread {
        Spread::of(&self.values(point, variant, measure))
    }

    /// Returns the median of one measure of one variant at one point.
    pub(crate) fn median(&self, point: usize, variant: usize, measure: &str) -> f64 {
        self.spread(point, variant, measure).median
    }

    /// Returns the sum of one measure of one variant over all points and repetitions.
    pub(crate) fn total(&self, variant: usize, measure: &str) -> f64 {
        (0..self.points.len()).flat_map(|point| self.values(point, variant, measure)).sum()
    }

    /// Returns the spread of the ratios of a variant to another at the same points
    /// (LAB-VARIANTS-3). Several points serve a claim about all of them together.
    pub(crate) fn ratio(
        &self,
        points: &[usize],
        variant: usize,
        baseline: usize,
        measure: &str,
    ) -> Spread {
        let of_point = |&point: &usize| {
            let above = self.values(point, variant, measure);
            above.into_iter().zip(self.values(point, baseline, measure))
        };
        let ratios: Vec<f64> = points.iter().flat_map(of_point).map(|(a, b)| ratio(a, b)).collect();
        Spread::of(&ratios)
    }

    /// Returns the median ratio of a variant to another at one point, in the grid's own measure.
    pub(crate) fn over(&self, point: usize, variant: usize, baseline: usize) -> f64 {
        self.ratio(&[point], variant, baseline, self.measure).median
    }

    /// Returns the least of the median ratios of one variant to each of the first `among`, itself
    /// included.
    pub(crate) fn over_best(&self, point: usize, variant: usize, among: usize) -> f64 {
        least((0..among).map(|other| self.over(point, variant, other)))
    }

    /// Returns the spread of the ratios of a variant at one point to the same variant at another
    /// (LAB-VARIANTS-3), in the grid's own measure.
    pub(crate) fn between(&self, variant: usize, point: usize, baseline: usize) -> Spread {
        let above = self.values(point, variant, self.measure);
        let below = self.values(baseline, variant, self.measure);
        let ratios: Vec<f64> = above.iter().zip(&below).map(|(a, b)| ratio(*a, *b)).collect();
        Spread::of(&ratios)
    }
}

/// Returns `above / below`, or 1 if both are zero, since they are equal.
fn ratio(above: f64, below: f64) -> f64 {
    if above == below { 1.0 } else { above / below }
}

/// Returns the numbers below `count`, beginning with another one in each repetition
/// (LAB-VARIANTS-2).
fn order(count: usize, repetition: u32) -> impl Iterator<Item = usize> {
    (0..count).map(move |n| (n + repetition as usize) % count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_has_median_minimum_and_maximum() {
        assert_eq!(Spread::of(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 3.0]), Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!(Spread::of(&[7.0]), Spread { median: 7.0, min: 7.0, max: 7.0 });
        assert_eq!(Spread::of(&[]), Spread { median: 0.0, min: 0.0, max: 0.0 });
    }

    /// Returns a grid whose points and variants are numbers.
    fn grid(points: usize, variants: usize) -> Grid<usize, usize> {
        let numbered = |count: usize| (0..count).map(|n| (n, n));
        Grid::new("t", "x", numbered(points), numbered(variants))
    }

    #[test]
    fn ratios_are_taken_within_a_repetition() {
        // The machine gets ten times slower with each repetition, and the second variant is always
        // twice the first. Ratios of medians or of means would be 2 as well, but ratios across
        // repetitions would be 20 or 0.2.
        let samples = Samples::take(&grid(1, 2), 3, |_, (_, variant), repetition| {
            let machine = 10f64.powi(repetition as i32);
            Ok(vec![("x", machine * (variant + 1) as f64)])
        });
        let samples = samples.unwrap();
        assert_eq!(samples.ratio(&[0], 1, 0, "x"), Spread { median: 2.0, min: 2.0, max: 2.0 });
        assert_eq!(samples.spread(0, 1, "x"), Spread { median: 20.0, min: 2.0, max: 200.0 });
        assert_eq!(samples.median(0, 1, "x"), 20.0);
    }

    #[test]
    fn the_median_ratio_is_no_ratio_of_medians() {
        let (above, below) = ([1.0, 10.0, 100.0], [1.0, 1.0, 50.0]);
        let samples = Samples::take(&grid(1, 2), 3, |_, (_, variant), n| {
            let values = if *variant == 0 { below } else { above };
            Ok(vec![("x", values[n as usize])])
        });
        let samples = samples.unwrap();
        let ratio = samples.ratio(&[0], 1, 0, "x");
        assert_eq!(ratio, Spread { median: 2.0, min: 1.0, max: 10.0 });
        assert_eq!(samples.over(0, 1, 0), 2.0);
        assert_eq!(samples.over(0, 0, 1), 0.5);
        assert_eq!((samples.over_best(0, 0, 2), samples.over_best(0, 1, 2)), (0.5, 1.0));
    }

    #[test]
    fn ratios_of_several_points_are_pooled() {
        let samples = Samples::take(&grid(2, 2), 2, |(_, point), (_, variant), repetition| {
            let above = (2 * point + repetition as usize + 1) as f64; // 1, 2 and 3, 4
            Ok(vec![("x", if *variant == 0 { 1.0 } else { above })])
        });
        let samples = samples.unwrap();
        let ratio = samples.ratio(&[0, 1], 1, 0, "x");
        assert_eq!(ratio, Spread { median: 2.5, min: 1.0, max: 4.0 });
        assert_eq!((samples.total(0, "x"), samples.total(1, "x")), (4.0, 10.0));
    }

    #[test]
    fn points_are_compared_within_a_repetition_too() {
        let samples = Samples::take(&grid(2, 2), 3, |(_, point), (_, variant), repetition| {
            let machine = 10f64.powi(repetition as i32);
            Ok(vec![("x", machine * (3 * point + variant + 1) as f64)]) // 1, 2 and 4, 5
        });
        let samples = samples.unwrap();
        assert_eq!(samples.between(0, 1, 0).median, 4.0);
        assert_eq!(samples.between(1, 1, 0), Spread { median: 2.5, min: 2.5, max: 2.5 });
    }

    #[test]
    fn variants_run_in_turn_and_each_runs_first_in_turn() {
        let mut order = Vec::new();
        Samples::take(&grid(2, 2), 2, |(_, point), (_, variant), repetition| {
            order.push((repetition, *point, *variant));
            Ok(vec![])
        })
        .unwrap();
        let first = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)];
        let second = [(1, 0, 1), (1, 0, 0), (1, 1, 1), (1, 1, 0)];
        assert_eq!(order, [first, second].concat());
    }

    #[test]
    fn two_zeros_are_equal() {
        assert_eq!((ratio(0.0, 0.0), ratio(6.0, 3.0)), (1.0, 2.0));
        assert_eq!(ratio(1.0, 0.0), f64::INFINITY);
    }

    #[test]
    fn a_failure_ends_the_run() {
        let failed = Samples::take(&grid(1, 1), 2, |_, _, _| Err("no".into()));
        assert!(failed.is_err());
    }
}
