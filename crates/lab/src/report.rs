//! What an experiment found, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::{
    experiment::{Experiment, Lab},
    machine,
    table::{Table, number},
    variants::{Samples, Spread},
};

/// What an experiment found.
#[derive(Default)]
pub(crate) struct Findings {
    /// What it was run with, its own options included, and what it says about that: what
    /// corresponds to what in the paper.
    pub(crate) settings: Vec<(&'static str, Value)>,
    /// What was measured.
    pub(crate) grids: Vec<Grid>,
    /// Whether what it must show was seen.
    pub(crate) claims: Vec<Claim>,
}

/// The runs of one grid, and how to read them.
pub(crate) struct Grid {
    pub(crate) title: &'static str,
    pub(crate) samples: Samples,
    /// The measure whose ratios are shown.
    pub(crate) measure: &'static str,
    /// The variant that the others are divided by.
    pub(crate) baseline: usize,
}

/// One thing that must be shown.
pub(crate) struct Claim {
    /// What, and with which bound.
    pub(crate) must: String,
    /// What was seen.
    pub(crate) seen: String,
    pub(crate) holds: bool,
}

impl Claim {
    /// That `seen` is at least `bound`.
    pub(crate) fn at_least(what: &str, bound: f64, seen: f64) -> Claim {
        let must = format!("{what}: at least {}", number(bound));
        Claim { must, seen: number(seen), holds: seen >= bound }
    }

    /// That `seen` is at most `bound`.
    pub(crate) fn at_most(what: &str, bound: f64, seen: f64) -> Claim {
        let must = format!("{what}: at most {}", number(bound));
        Claim { must, seen: number(seen), holds: seen <= bound }
    }
}

/// The list of experiments.
pub(crate) fn list(experiments: &[Experiment]) {
    for Experiment { name, source, shows, .. } in experiments {
        clearway_console::say!("{name}\n    {shows}\n    after {source}");
    }
}

/// The report for people.
pub(crate) fn to_text(lab: &Lab<'_>, findings: &Findings) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}: {}", lab.experiment.name, lab.experiment.shows);
    let _ = writeln!(out, "after {}\n", lab.experiment.source);
    for (name, value) in machine::facts() {
        let _ = writeln!(out, "{name}: {}", plain(&value));
    }
    for (name, value) in &findings.settings {
        let _ = writeln!(out, "{name}: {}", plain(value));
    }
    let seconds = lab.time.as_secs_f64();
    let _ = writeln!(out, "runs: {} of {seconds} s for each variant and point", lab.repetitions);
    for grid in &findings.grids {
        let _ = write!(out, "\n{}\n{}", grid.title, grid_text(grid));
    }
    out.push('\n');
    for claim in &findings.claims {
        let verdict = if claim.holds { "shown" } else { "NOT SHOWN" };
        let _ = writeln!(out, "{verdict}: {} (seen: {})", claim.must, claim.seen);
    }
    out
}

/// Text without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// A line for each point and variant: medians of all measures, then the ratio of one of them.
fn grid_text(grid: &Grid) -> String {
    let Grid { samples, measure, baseline, .. } = grid;
    let mut headings = vec!["point".to_string(), "variant".to_string()];
    headings.extend(samples.measures().iter().map(ToString::to_string));
    headings.push(format!("{measure} over {}: median", samples.variants[*baseline]));
    headings.extend(["min".into(), "max".into()]);
    let mut table = Table::new(2, headings);
    for point in 0..samples.points.len() {
        for variant in 0..samples.variants.len() {
            let mut cells = vec![samples.points[point].clone(), samples.variants[variant].clone()];
            let median = |measure| number(samples.spread(point, variant, measure).median);
            cells.extend(samples.measures().into_iter().map(median));
            let ratio = samples.ratio(point, variant, *baseline, measure);
            cells.extend([ratio.median, ratio.min, ratio.max].map(|r| format!("{r:.3}")));
            table.line(cells);
        }
    }
    table.text()
}

/// The report for programs: one object.
pub(crate) fn to_json(lab: &Lab<'_>, findings: &Findings) -> Value {
    let claim =
        |claim: &Claim| json!({"must": claim.must, "seen": claim.seen, "holds": claim.holds});
    let settings = findings.settings.iter().map(|(name, value)| (name.to_string(), value.clone()));
    json!({
        "experiment": lab.experiment.name,
        "source": lab.experiment.source,
        "shows": lab.experiment.shows,
        "version": env!("CARGO_PKG_VERSION"),
        "machine": machine::facts().into_iter().collect::<Map<_, _>>(),
        "seconds": lab.time.as_secs_f64(),
        "repetitions": lab.repetitions,
        "settings": settings.collect::<Map<_, _>>(),
        "grids": findings.grids.iter().map(grid_json).collect::<Vec<_>>(),
        "claims": findings.claims.iter().map(claim).collect::<Vec<_>>(),
    })
}

fn grid_json(grid: &Grid) -> Value {
    let Grid { title, samples, measure, baseline } = grid;
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
                "ratio": spread_json(samples.ratio(point, variant, *baseline, measure)),
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

    #[test]
    fn claims_compare() {
        assert!(Claim::at_least("x", 2.0, 2.0).holds && !Claim::at_least("x", 2.0, 1.9).holds);
        assert!(Claim::at_most("x", 2.0, 2.0).holds && !Claim::at_most("x", 2.0, 2.1).holds);
        assert!(!Claim::at_least("x", 2.0, f64::NAN).holds);
    }

    #[test]
    fn grids_name_their_baseline_and_show_ratios() {
        let names = |names: [&str; 2]| names.map(String::from).to_vec();
        let samples = Samples::take(vec!["p".into()], names(["old", "new"]), 1, |_, variant, _| {
            Ok(vec![("tps", 100.0 * (variant + 1) as f64)])
        });
        let grid = Grid { title: "t", samples: samples.unwrap(), measure: "tps", baseline: 0 };
        let text = grid_text(&grid);
        assert!(text.contains("tps over old: median") && text.contains("2.000"), "{text}");
        let json = grid_json(&grid);
        assert_eq!(json["runs"][1]["ratio"]["median"], 2.0);
        assert_eq!(json["runs"][1]["measures"]["tps"]["values"][0], 200.0);
    }
}
