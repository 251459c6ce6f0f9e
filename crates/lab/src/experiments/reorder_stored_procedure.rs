//! Payment as a client's queries and as a stored procedure: figure 9 of the paper.

use std::{cell::RefCell, path::PathBuf};

use clap::Args;

use super::reorder::{
    comparison::{Comparison, Point, report_settings, setting},
    prepared::Prepared,
    site::{Setting, Site, delay_name, usual_scale},
    workload::{PAYMENT, PAYMENT_PROCEDURE, System, examples},
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct StoredProcedure {
    /// Transactions in flight
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=250))]
    clients: u32,
    /// The delays of each round trip in microseconds
    #[arg(long, value_name = "US", value_delimiter = ',', default_value = "0,1000",
          value_parser = clap::value_parser!(u32).range(0..=100_000))]
    delays: Vec<u32>,
    #[arg(skip)]
    comparison: Comparison,
    /// The body that was created last.
    #[arg(skip)]
    body: RefCell<Option<(System, Body)>>,
}

/// The order of a procedure's queries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Body {
    Original,
    Reordered,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Variant {
    Original,
    Reordered,
    Procedure(Body),
}

const SYSTEMS: [System; 2] = [System::MariaDb, System::Postgres];
/// The numbers of variants.
const ORIGINAL: usize = 0;
const REORDERED: usize = 1;
const PROCEDURE: usize = 2;
const REORDERED_PROCEDURE: usize = 3;

impl Experiment for StoredProcedure {
    const ABOUT: About = About {
        name: "reorder_stored_procedure",
        source: "the QURO paper, 6.7, figure 9",
        shows: "a stored procedure saves round trips; under contention its order matters as well",
        seconds: 1.5,
        repetitions: 2,
    };
    type Point = Point;
    type Variant = Variant;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let mut site = Site::new(&SYSTEMS, usual_scale)?;
        report_settings(found);
        found.setting("clients", self.clients);
        found.setting("the paper's speedups", "reordered 3.52, stored procedure 1.41");
        let mut prepared = Vec::new();
        for system in SYSTEMS {
            let setting = setting(lab, system, &PAYMENT, self.clients, 0);
            let procedure = Setting { workload: &PAYMENT_PROCEDURE, ..setting };
            prepared.push(Prepared::by_estimates(&mut site, &setting)?);
            prepared.push(Prepared::unchanged(&mut site, &procedure)?);
        }
        self.comparison.begin(site, prepared, found);
        Ok(self.grids(lab))
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let Point { setting, programs } = run.point;
        let setting = &Setting { seed: run.repetition, ..*setting };
        self.comparison.with(|site, prepared| {
            let (payment, procedure) = (&prepared[*programs], &prepared[programs + 1]);
            let program = match *run.variant {
                Variant::Original => &payment.original,
                Variant::Reordered => &payment.reordered,
                Variant::Procedure(body) => {
                    let created = Some((setting.system, body));
                    if *self.body.borrow() != created {
                        site.execute(setting, &definition(setting.system, body))?;
                        self.body.replace(created);
                    }
                    &procedure.original
                }
            };
            Ok(site.drive(setting, program)?.sample())
        })
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for (grid, system) in seen.grids.iter().zip(SYSTEMS) {
            let name = system.name();
            let over = |variant, baseline| grid.over(0, variant, baseline);
            let what = format!("{name}, highest contention, reordered over original client");
            found.at_least(what, 1.5, over(REORDERED, ORIGINAL));
            let what = format!("{name}, highest contention, reordered over original procedure");
            found.at_least(what, 1.0, over(REORDERED_PROCEDURE, PROCEDURE));
        }
    }
}

/// Returns the file that creates the procedure.
fn definition(system: System, body: Body) -> PathBuf {
    let folder = match system {
        System::MariaDb => "tpcc/mariadb",
        System::Postgres => "tpcc",
    };
    examples().join(folder).join(match body {
        Body::Original => "procedure.sql",
        Body::Reordered => "procedure-reordered.sql",
    })
}

impl StoredProcedure {
    /// Returns a grid for each server: all sizes without a delay, and then with the others.
    fn grids(&self, lab: &Lab) -> Grids<Self> {
        let grid = |(at, system): (usize, System)| {
            let mut points = Vec::new();
            for &delay_us in &self.delays {
                let usual = setting(lab, system, &PAYMENT, self.clients, delay_us);
                for size in PAYMENT.contention(false, usual_scale(system)) {
                    let setting = Setting { size, ..usual };
                    points.push((setting.point(), Point { setting, programs: 2 * at }));
                }
            }
            let variants = [
                ("original", Variant::Original),
                ("reordered", Variant::Reordered),
                ("procedure", Variant::Procedure(Body::Original)),
                ("reordered procedure", Variant::Procedure(Body::Reordered)),
            ];
            let delays: Vec<_> = self.delays.iter().map(|&delay| delay_name(delay)).collect();
            let title = format!("payment, {}, {}", system.name(), delays.join(" and "));
            Grid::new(title, "tps", points, variants)
        };
        SYSTEMS.into_iter().enumerate().map(grid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{callgrind::Counts, variants::Samples};

    #[test]
    fn all_definitions_exist() {
        for system in SYSTEMS {
            for body in [Body::Original, Body::Reordered] {
                assert!(definition(system, body).exists());
            }
        }
    }

    #[test]
    fn claims_compare_clients_and_procedures() {
        let time = std::time::Duration::from_secs(1);
        let lab = Lab { time, repetitions: 1, counts: Counts::default() };
        let experiment = StoredProcedure {
            clients: 32,
            delays: vec![0, 1000],
            comparison: Comparison::default(),
            body: RefCell::default(),
        };
        let grids = experiment.grids(&lab);
        assert!(grids.iter().all(|grid| grid.points.len() == 6 && grid.variants.len() == 4));
        let take = |grid: &Grid<Point, Variant>| {
            Samples::take(grid, 1, |_, (name, _), _| {
                Ok(vec![("tps", if name.contains("reordered") { 2.0 } else { 1.0 })])
            })
        };
        let grids = grids.iter().map(take).collect::<Outcome<Vec<_>>>().unwrap();
        let mut found = Findings::default();
        experiment.claims(&Seen { lab: &lab, counted: None, grids }, &mut found);
        assert!(found.all_shown() && found.claims.len() == 4);
    }
}
