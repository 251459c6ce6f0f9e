//! The tool: the orders of statements that it chooses and that it allows.

use std::{collections::BTreeSet, fs, path::PathBuf, sync::OnceLock};

use clearway_reorder::{
    api::{self, Models, Server},
    clang::FrontEnd,
    legality::{Isolation, Rule},
    rewrite::{Options, Report, rewrite},
    schema::{self, Schema},
    solve::{Limits, UnitCost},
};
use clearway_testkit::Random;

use super::{
    machine::Level,
    source,
    transaction::{SCHEMA, Transaction},
};

pub(crate) struct Tool {
    front_end: &'static FrontEnd,
    models: Models,
    schema: Schema,
    folder: PathBuf,
    pub(crate) level: Level,
    /// The rules that do not apply.
    pub(crate) without: Vec<Rule>,
}

/// A transaction as the tool has rewritten it.
pub(crate) struct Rewritten {
    /// The order of the statements in the rewritten text.
    pub(crate) chosen: Vec<usize>,
    /// This order and those that the tool would choose for other costs, without that of the source.
    pub(crate) orders: BTreeSet<Vec<usize>>,
}

impl Tool {
    /// Returns the tool for a server and an isolation level; `None` with a message if there is no
    /// front end.
    pub(crate) fn new(level: Level) -> Option<Tool> {
        static LOADED: OnceLock<Option<FrontEnd>> = OnceLock::new();
        let front_end = LOADED.get_or_init(load).as_ref()?;
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cases");
        let text = fs::read_to_string(folder.join("shop.toml")).expect("the model is there");
        let mut shop = api::load(&text, "shop.toml").expect("the model is right");
        let server = server(level);
        shop.server = Some(server);
        shop.failure_aborts = level.is_postgresql();
        let models = Models::new(&[], &[shop]).expect("the model is right");
        let schema = schema::parse(SCHEMA, server).expect("the schema is right");
        Some(Tool { front_end, models, schema, folder, level, without: Vec::new() })
    }

    /// Rewrites transactions, all in one file. For each, up to `drawn` orders are drawn.
    pub(crate) fn rewrite(
        &self,
        transactions: &[Transaction],
        drawn: u64,
    ) -> Result<Vec<Rewritten>, String> {
        let text = source::file(transactions, server(self.level));
        let flags = ["-std=gnu11".to_string(), format!("-I{}", self.folder.display())];
        let path = self.folder.join("interleavings.c");
        let parsed = self.front_end.parse(&path, Some(&text), &flags);
        let parsed = parsed.map_err(|error| error.to_string())?;
        let options = Options {
            isolation: Some(isolation(self.level)),
            without: self.without.clone(),
            ..Options::default()
        };
        let rewritten = rewrite(&parsed, &text, &self.models, &self.schema, &options)
            .map_err(|error| error.to_string())?;
        let of_one = |transaction: &Transaction| {
            let name = &transaction.name;
            let after = function(&rewritten.text, name);
            let chosen = self.order(transaction, after)?;
            let mut orders = BTreeSet::from([chosen.clone()]);
            let reports = &mut rewritten.transactions.iter();
            let report = reports.find(|one| one.function == *name).ok_or("no report")?;
            for draw in 0..drawn {
                let mut random = Random::stream(draw, text.len() as u64);
                orders.extend(self.drawn(transaction, &text, report, &mut random)?);
            }
            orders.remove(&(0..transaction.statements.len()).collect::<Vec<usize>>());
            Ok(Rewritten { chosen, orders })
        };
        let named = |transaction| {
            of_one(transaction).map_err(|error: String| format!("{}: {error}", transaction.name))
        };
        transactions.iter().map(named).collect()
    }

    /// Returns the order in which the statements stand in a text.
    fn order(&self, transaction: &Transaction, text: &str) -> Result<Vec<usize>, String> {
        let mut places: Vec<(usize, usize)> = Vec::new();
        for (at, one) in transaction.statements.iter().enumerate() {
            let statement = source::statement(&transaction.name, one, server(self.level));
            let mut found = text.match_indices(&statement);
            match (found.next(), found.next()) {
                (Some((place, _)), None) => places.push((place, at)),
                _ => return Err(format!("not once in the text:\n{statement}\n{text}")),
            }
        }
        places.sort_unstable();
        Ok(places.into_iter().map(|(_, at)| at).collect())
    }

    /// Returns an order that the tool chooses for other costs.
    fn drawn(
        &self,
        transaction: &Transaction,
        text: &str,
        report: &Report,
        random: &mut Random,
    ) -> Result<Option<Vec<usize>>, String> {
        let mut problem = report.problem();
        for unit in &mut problem.units {
            *unit = UnitCost { weight: random.below(1000), length: 1 };
        }
        let Ok(solution) = problem.solve(Limits::default()) else { return Ok(None) };
        let start = text.find(function(text, &transaction.name)).unwrap_or(0);
        let of_function = function(text, &transaction.name);
        let mut places = Vec::new();
        for (at, one) in transaction.statements.iter().enumerate() {
            let statement = source::statement(&transaction.name, one, server(self.level));
            let first = of_function.find(&statement).ok_or("no statement")?;
            // Behind the spaces at the begin of the line.
            let place = start + first + 4;
            let has = |unit: &usize| {
                let range = report.units[*unit].range;
                (range.start..range.end).contains(&place)
            };
            let unit = solution.order.iter().position(has).ok_or("no unit")?;
            places.push((unit, place, at));
        }
        places.sort_unstable();
        Ok(Some(places.into_iter().map(|(_, _, at)| at).collect()))
    }
}

fn load() -> Option<FrontEnd> {
    match FrontEnd::load() {
        Ok(front_end) => Some(front_end),
        Err(error) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

pub(crate) fn server(level: Level) -> Server {
    if level.is_postgresql() { Server::Postgresql } else { Server::Mysql }
}

fn isolation(level: Level) -> Isolation {
    match level {
        Level::PostgresqlReadCommitted | Level::MysqlReadCommitted => Isolation::ReadCommitted,
        _ => Isolation::RepeatableRead,
    }
}

/// Returns the text of a function.
fn function<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.find(&format!("int {name}(")).expect("the function is there");
    let end = text[start..].find("\n}\n").expect("the function ends");
    &text[start..start + end + 3]
}
