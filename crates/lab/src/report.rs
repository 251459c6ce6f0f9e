//! The findings of an experiment, as text and as JSON.

use std::{
    error::Error,
    fmt::{Display, Write as _},
    time::Duration,
};

use clearway_console::table;
use serde_json::{Map, Value, json};

use crate::{
    experiment::{About, Entry},
    machine,
    number::number,
    variants::{Samples, Spread},
};

/// The findings of an experiment.
#[derive(Default)]
pub(crate) struct Findings {
    /// The settings of the run, with the experiment's own options and the paper's corresponding
    /// ones.
    settings: Vec<(&'static str, Value)>,
    /// The measurements.
    pub(crate) grids: Vec<Samples>,
    /// The claims, each with its verdict.
    pub(crate) claims: Vec<Claim>,
}

/// A statement that the measurements must satisfy.
pub(crate) struct Claim {
    /// The statement with its bound.
    pub(crate) must: String,
    /// The measured value.
    pub(crate) seen: String,
    pub(crate) holds: bool,
}

impl Findings {
    /// Adds a setting.
    pub(crate) fn setting(&mut self, name: &'static str, value: impl Into<Value>) {
        self.settings.push((name, value.into()));
    }

    /// Adds the claim that `seen` is at least `bound`.
    pub(crate) fn at_least(&mut self, what: impl Display, bound: f64, seen: f64) {
        let must = format!("{what}: at least {}", number(bound));
        self.claims.push(Claim { must, seen: number(seen), holds: seen >= bound });
    }

    /// Adds the claim that `seen` is at most `bound`.
    pub(crate) fn at_most(&mut self, what: impl Display, bound: f64, seen: f64) {
        let must = format!("{what}: at most {}", number(bound));
        self.claims.push(Claim { must, seen: number(seen), holds: seen <= bound });
    }

    /// Returns true if every claim holds.
    pub(crate) fn all_shown(&self) -> bool {
        self.claims.iter().all(|claim| claim.holds)
    }
}

/// Prints the list of experiments.
pub(crate) fn list(experiments: &[Entry]) {
    for Entry { about: About { name, source, shows, .. }, .. } in experiments {
        clearway_console::say!("{name}\n    {shows}\n    after {source}");
    }
}

/// The description, time and repetitions of a run of an experiment.
pub(crate) struct Setup<'a> {
    pub(crate) about: &'a About,
    pub(crate) time: Duration,
    pub(crate) repetitions: u32,
}

/// Returns the report as text.
pub(crate) fn to_text(setup: &Setup<'_>, findings: &Findings) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}: {}", setup.about.name, setup.about.shows);
    let _ = writeln!(out, "after {}\n", setup.about.source);
    for (name, value) in machine::facts() {
        let _ = writeln!(out, "{name}: {}", plain(&value));
    }
    for (name, value) in &findings.settings {
        let _ = writeln!(out, "{name}: {}", plain(value));
    }
    let (seconds, repetitions) = (setup.time.as_secs_f64(), setup.repetitions);
    let _ = writeln!(out, "runs: {repetitions} of {seconds} s for each variant and point");
    for grid in &findings.grids {
        let _ = writeln!(out, "\n{}\n{}", grid.title, grid_text(grid));
    }
    out.push('\n');
    for claim in &findings.claims {
        let verdict = if claim.holds { "shown" } else { "NOT SHOWN" };
        let _ = writeln!(out, "{verdict}: {} (seen: {})", claim.must, claim.seen);
    }
    out
}

/// The claims of several experiments.
#[derive(Default)]
pub(crate) struct Summary {
    /// For each experiment that ran: its name, the number of its claims that hold, and the number
    /// of those that do not.
    ran: Vec<(&'static str, usize, usize)>,
    /// The claims that do not hold, and the experiments that could not run.
    problems: Vec<String>,
    failures: usize,
}

impl Summary {
    /// Adds an experiment that ran.
    pub(crate) fn ran(&mut self, name: &'static str, found: &Findings) {
        let not_shown = found.claims.iter().filter(|claim| !claim.holds);
        let lines = not_shown
            .map(|claim| format!("NOT SHOWN: {name}: {} (seen: {})", claim.must, claim.seen));
        let before = self.problems.len();
        self.problems.extend(lines);
        let not_shown = self.problems.len() - before;
        self.ran.push((name, found.claims.len() - not_shown, not_shown));
    }

    /// Adds an experiment that could not run.
    pub(crate) fn failed(&mut self, name: &'static str, error: &dyn Error) {
        self.problems.push(format!("COULD NOT RUN: {name}: {error}"));
        self.failures += 1;
    }

    /// Returns the number of experiments that could not run.
    pub(crate) fn failures(&self) -> usize {
        self.failures
    }

    /// Returns true if every claim of the experiments that ran holds.
    pub(crate) fn all_shown(&self) -> bool {
        self.ran.iter().all(|(_, _, not_shown)| *not_shown == 0)
    }

    /// Returns the summary as text: a line for each experiment, one for all, and the claims that do
    /// not hold.
    pub(crate) fn to_text(&self) -> String {
        let mut table = table(1, ["summary", "shown", "not shown"]);
        let mut line = |name: &str, shown: usize, not_shown: usize| {
            table.add_row([name.to_string(), shown.to_string(), not_shown.to_string()]);
        };
        self.ran.iter().for_each(|(name, shown, not_shown)| line(name, *shown, *not_shown));
        let sum = |part: fn(&(&str, usize, usize)) -> usize| self.ran.iter().map(part).sum();
        line("all", sum(|ran| ran.1), sum(|ran| ran.2));
        let problems = self.problems.iter().map(|problem| format!("{problem}\n"));
        format!("{}\n\n{}", table.trim_fmt(), problems.collect::<String>())
    }
}

/// Returns the value as text, without quotation marks around strings.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// Returns a line for each point and variant: the medians of all measures, then the ratio of one of
/// them.
fn grid_text(samples: &Samples) -> String {
    let Samples { measure, baseline, .. } = samples;
    let mut headings = vec!["point".to_string(), "variant".to_string()];
    headings.extend(samples.measures().iter().map(ToString::to_string));
    headings.push(format!("{measure} over {}: median", samples.variants[*baseline]));
    headings.extend(["min".into(), "max".into()]);
    let mut table = table(2, headings);
    for point in 0..samples.points.len() {
        for variant in 0..samples.variants.len() {
            let mut cells = vec![samples.points[point].clone(), samples.variants[variant].clone()];
            let median = |measure| number(samples.median(point, variant, measure));
            cells.extend(samples.measures().into_iter().map(median));
            let ratio = samples.ratio(&[point], variant, *baseline, measure);
            cells.extend([ratio.median, ratio.min, ratio.max].map(|r| format!("{r:.3}")));
            table.add_row(cells);
        }
    }
    table.trim_fmt()
}

/// Returns the report as one JSON object.
pub(crate) fn to_json(setup: &Setup<'_>, findings: &Findings) -> Value {
    let claim =
        |claim: &Claim| json!({"must": claim.must, "seen": claim.seen, "holds": claim.holds});
    let settings = findings.settings.iter().map(|(name, value)| (name.to_string(), value.clone()));
    json!({
        "experiment": setup.about.name,
        "source": setup.about.source,
        "shows": setup.about.shows,
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine::facts().into_iter().collect::<Map<_, _>>(),
        "seconds": setup.time.as_secs_f64(),
        "repetitions": setup.repetitions,
        "settings": settings.collect::<Map<_, _>>(),
        "grids": findings.grids.iter().map(grid_json).collect::<Vec<_>>(),
        "claims": findings.claims.iter().map(claim).collect::<Vec<_>>(),
    })
}

fn grid_json(samples: &Samples) -> Value {
    let Samples { title, measure, baseline, .. } = samples;
    let mut runs = Vec::new();
    for point in 0..samples.points.len() {
        for variant in 0..samples.variants.len() {
            let measures = samples.measures().into_iter().map(|measure| {
                let spread = spread_json(samples.spread(point, variant, measure));
                let values = samples.values(point, variant, measure);
                (measure.to_string(), json!({"spread": spread, "values": values}))
            });
            runs.push(json!({
                "point": samples.points[point],
                "variant": samples.variants[variant],
                "measures": measures.collect::<Map<_, _>>(),
                "ratio": spread_json(samples.ratio(&[point], variant, *baseline, measure)),
            }));
        }
    }
    json!({
        "title": title,
        "ratio_of": measure,
        "baseline": samples.variants[*baseline],
        "runs": runs,
    })
}

fn spread_json(spread: Spread) -> Value {
    json!({"median": spread.median, "min": spread.min, "max": spread.max})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Grid;

    #[test]
    fn claims_compare() {
        let mut found = Findings::default();
        found.at_least("x", 2.0, 2.0);
        found.at_most("x", 2.0, 2.0);
        assert!(found.all_shown());
        found.at_least("x", 2.0, 1.9);
        found.at_most("x", 2.0, 2.1);
        found.at_least("x", 2.0, f64::NAN);
        let holds = found.claims.iter().map(|claim| claim.holds);
        assert!(holds.eq([true, true, false, false, false]) && !found.all_shown());
    }

    #[test]
    fn a_summary_counts_claims_and_names_those_that_do_not_hold() {
        let mut found = Findings::default();
        found.at_least("x", 2.0, 2.0);
        let mut summary = Summary::default();
        summary.ran("one", &found);
        assert!(summary.all_shown() && summary.failures() == 0);
        found.at_least("y", 2.0, 1.0);
        summary.ran("two", &found);
        summary.failed("three", &std::io::Error::other("no disk"));
        assert!(!summary.all_shown() && summary.failures() == 1);
        let text = summary.to_text();
        let words: Vec<_> = text.split_whitespace().collect();
        let lines = ["summary shown not shown", "one 1 0", "two 1 1", "all 2 1"].join(" ");
        assert!(words.join(" ").starts_with(&lines), "{text}");
        let problems = "\nNOT SHOWN: two: y: at least 2.00 (seen: 1.00)\n\
                        COULD NOT RUN: three: no disk\n";
        assert!(text.ends_with(problems), "{text}");
    }

    #[test]
    fn grids_name_their_baseline_and_show_ratios() {
        let grid = Grid::new("t", "tps", [("p", ())], [("old", 100.0), ("new", 200.0)]);
        let samples = Samples::take(&grid, 1, |_, (_, tps), _| Ok(vec![("tps", *tps)])).unwrap();
        let text = grid_text(&samples);
        assert!(text.contains("tps over old: median") && text.contains("2.000"), "{text}");
        let json = grid_json(&samples);
        assert_eq!(json["runs"][1]["ratio"]["median"], 2.0);
        assert_eq!(json["runs"][1]["measures"]["tps"]["values"][0], 200.0);
    }
}
