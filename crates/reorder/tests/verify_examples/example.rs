//! Reads an example, reorders it as `clearway reorder rewrite` does, and compares both texts.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clearway_reorder::{
    api::Models,
    clang::FrontEnd,
    ir::Program,
    rewrite,
    schema::{self, Schema},
    transaction, transform,
    verify::{self, Interface, Knowledge, LIBPQ, MYSQL, Report, VerifyError, verify},
};

use crate::styles::Style;

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Notes why a test is skipped; fails if the variable says that it must not be.
pub(crate) fn skip(variable: &str, reason: &str) {
    assert!(std::env::var_os(variable).is_none(), "{reason}");
    eprintln!("SKIPPED: {reason}");
}

/// An example with all that is known of it.
pub(crate) struct Example {
    pub(crate) style: &'static Style,
    interface: &'static Interface,
    path: PathBuf,
    pub(crate) text: String,
    front_end: FrontEnd,
    program: Program,
    models: Models,
    schema: Schema,
}

impl Example {
    /// Reads an example; `None` with a message if libclang or the interface's header is missing.
    pub(crate) fn read(style: &'static Style) -> Option<Example> {
        let interface = if style.is_mariadb() { &MYSQL } else { &LIBPQ };
        let header = header(interface);
        if !Path::new(header).exists() {
            skip(required(interface), &format!("{header} is missing"));
            return None;
        }
        let front_end = match FrontEnd::load() {
            Ok(front_end) => front_end,
            Err(error) => {
                skip("CLEARWAY_REQUIRE_LIBCLANG", &error.to_string());
                return None;
            }
        };
        let path = examples().join(style.file);
        let text = fs::read_to_string(&path).unwrap();
        let models = Models::new(&[interface.name], &[]).unwrap();
        let ddl = fs::read_to_string(examples().join(style.tables)).unwrap();
        let schema = schema::parse(&ddl, models.server().unwrap()).unwrap();
        let program = front_end.parse(&path, Some(&text), &flags(interface)).unwrap();
        Some(Example { style, interface, path, text, front_end, program, models, schema })
    }

    /// Returns the text that the tool makes of it with some options.
    pub(crate) fn rewritten(&self, options: &rewrite::Options) -> String {
        let flags = flags(self.interface);
        let parse = |text: &str| self.front_end.parse(&self.path, Some(text), &flags);
        let (program, models, schema) = (&self.program, &self.models, &self.schema);
        match transform::rewrite(&parse, program, &self.text, models, schema, options) {
            Ok(rewritten) => rewritten.text,
            Err(refused) => panic!("{}: {refused}", self.style.file),
        }
    }

    /// Returns the flags with which its text compiles.
    pub(crate) fn flags(&self) -> Vec<String> {
        flags(self.interface)
    }

    /// Compares the example with another text of it; `None` with a message if there is no compiler.
    pub(crate) fn compared(
        &self,
        text: &str,
        change: impl FnOnce(&mut verify::Options<'_>),
    ) -> Option<Report> {
        let place = tempfile::tempdir().unwrap();
        let rewritten = place.path().join("rewritten.c");
        fs::write(&rewritten, text).unwrap();
        let knowledge = Knowledge::new(&self.schema, self.models.server().unwrap());
        let analyze = |sql: &str| knowledge.analyze(sql);
        let key = |table: &str| knowledge.key(table);
        let mut options = verify::Options::new(self.interface, &analyze, &key);
        options.columns = knowledge.columns();
        options.keys = knowledge.keys();
        options.flags = flags(self.interface);
        options.seeds = 4;
        options.sanitize = false;
        (self.style.limits)(&mut options);
        change(&mut options);
        let function =
            transaction::functions(&self.program, &self.models, self.style.function, &self.text)
                .unwrap();
        let [(function, _)] = &function[..] else { panic!("{function:?}") };
        options.sites = verify::sites(&self.program, &self.models, &self.text, function);
        match verify(&self.path, &rewritten, &self.program, function, &options) {
            Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
                skip(required(self.interface), &error.to_string());
                None
            }
            other => Some(other.unwrap_or_else(|error| panic!("{}: {error}", self.style.file))),
        }
    }
}

fn header(interface: &Interface) -> &'static str {
    match interface.name {
        "mysql" => "/usr/include/mariadb/mysql.h",
        _ => "/usr/include/postgresql/libpq-fe.h",
    }
}

/// Returns the variable that says that the header must not be missing.
fn required(interface: &Interface) -> &'static str {
    if interface.name == "mysql" { "CLEARWAY_REQUIRE_MYSQL" } else { "CLEARWAY_REQUIRE_LIBPQ" }
}

fn flags(interface: &Interface) -> Vec<String> {
    let include = Path::new(header(interface)).parent().unwrap();
    let mut flags = vec![format!("-I{}", include.display())];
    let own: &[&str] = match interface.name {
        "mysql" => &["tpcc/mariadb", "tpce/mariadb", "bidding/mariadb"],
        _ => &[],
    };
    for folder in own.iter().chain(&["", "tpcc", "tpce", "bidding"]) {
        flags.push(format!("-I{}", examples().join(folder).display()));
    }
    flags
}
