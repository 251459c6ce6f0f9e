//! The tool, as the experiments use it: the text of a source, reordered or with measurements.

use std::{fs, path::Path, process::Command};

use clearway_reorder::{
    api::Models,
    clang::{self, FrontEnd},
    profile::{self, Key, Profile},
    rewrite::{Options, Report, Rewritten},
    schema::{self, Schema},
    transform,
    weights::Costing,
};

use super::{
    programs::finished,
    workload::{System, examples},
};
use crate::experiment::Outcome;

/// The folders whose headers the sources include; a folder of MariaDB before that of PostgreSQL
/// with the same names.
const FOLDERS: [&str; 4] = ["", "tpcc", "tpce", "bidding"];

/// The tool for the sources of one system and one database.
pub(crate) struct Tool {
    front_end: FrontEnd,
    models: Models,
    schema: Schema,
    flags: Vec<String>,
    distinct: Vec<String>,
}

impl Tool {
    /// Loads libclang, the model of the interface and the schema, a file of the examples. The
    /// elements of the arrays in `distinct` differ from each other.
    pub(crate) fn new(system: System, schema: &str, distinct: &[&str]) -> Outcome<Tool> {
        clang::prepare()?;
        let front_end = FrontEnd::load()?;
        let models = Models::new(&[system.api()], &[])?;
        let server = models.server().ok_or("the interface has no server")?;
        let schema = schema::parse(&fs::read_to_string(examples().join(schema))?, server)?;
        let distinct = distinct.iter().copied().map(str::to_string).collect();
        Ok(Tool { front_end, models, schema, flags: flags(system)?, distinct })
    }

    /// Reorders a text that stands in `file`, by a profile or by estimates. Reads of different
    /// rows may change places, as in the paper.
    pub(crate) fn reorder(
        &self,
        file: &Path,
        text: &str,
        profile: Option<&Profile>,
    ) -> Outcome<Rewritten> {
        let costing = Costing { profile: profile.cloned(), ..Costing::default() };
        let distinct = self.distinct.clone();
        let options = Options { relaxed_reads: true, costing, distinct, ..Options::default() };
        let parse = |text: &str| self.front_end.parse(file, Some(text), &self.flags);
        let program = parse(text)?;
        let (models, schema) = (&self.models, &self.schema);
        Ok(transform::rewrite(&parse, &program, text, models, schema, &options)?)
    }

    /// Returns the text with the measurement of each query, and the measured queries in the order
    /// of the text.
    pub(crate) fn instrument(&self, file: &Path, text: &str) -> Outcome<(String, Vec<Key>)> {
        let program = self.front_end.parse(file, Some(text), &self.flags)?;
        let instrumented = profile::instrument(&program, text, &self.models, None)?;
        Ok((instrumented.text, instrumented.measured))
    }
}

/// Returns the expected costs before and after, and the number of statements that were split, for
/// people.
pub(crate) fn summary(rewritten: &Rewritten) -> String {
    let cost = |report: &Report| {
        let moved = match report.cost_before == report.solution.cost {
            true => "unchanged".to_string(),
            false => format!("cost {} to {}", report.cost_before, report.solution.cost),
        };
        format!("{} {moved}", report.function)
    };
    let costs: Vec<String> = rewritten.transactions.iter().map(cost).collect();
    match rewritten.splits.len() {
        0 => costs.join(", "),
        splits => format!("{}, {splits} splits", costs.join(", ")),
    }
}

fn flags(system: System) -> Outcome<Vec<String>> {
    let include = |folder: std::path::PathBuf| format!("-I{}", folder.display());
    let of_folder = |folder: &&str| examples().join(folder);
    let mariadb = FOLDERS.iter().skip(1).map(of_folder).map(|folder| folder.join("mariadb"));
    let system_flags = match system {
        System::MariaDb => printed("mariadb_config", "--include")?,
        System::Postgres => format!("-I{}", printed("pg_config", "--includedir")?),
    };
    let mut flags: Vec<String> = FOLDERS.iter().map(of_folder).map(include).collect();
    if system == System::MariaDb {
        flags.splice(1..1, mariadb.map(include));
    }
    flags.extend(system_flags.split_whitespace().map(str::to_string));
    Ok(flags)
}

/// Returns the line that a program prints.
fn printed(program: &str, option: &str) -> Outcome<String> {
    let output = Command::new(program).arg(option).output();
    let output = output.map_err(|error| format!("needs {program}: {error}"))?;
    let output = finished(output, program)?;
    Ok(String::from_utf8(output.stdout)?.trim().to_string())
}
