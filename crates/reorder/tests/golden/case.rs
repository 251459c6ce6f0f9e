//! One case: a source file with a head comment, and the expected source beside it.
//!
//! The head is the `//` comment at the begin of the file. A line `key: value` of it is a setting,
//! all others are prose:
//!
//! - `expect`: `moves`; `unchanged`; `not yet, REASON`: nothing moves, though something could; or
//!   `refused, MESSAGE` for a part of the message.
//! - `keeps`: `RULE, REASON`: a constraint that the report has, by the rule's name and a part of
//!   its reason, or by the rule alone. May be repeated.
//! - `left open`: a part of what is said of a function whose transaction is not found. May be
//!   repeated.
//! - `api`: a built-in model; without it the case uses `shop.h` and its model.
//! - `server`: `postgresql` (the default), `mysql` or `sqlite`; not with `api`.
//! - `isolation`: `read committed`, `repeatable read` or `serializable`.
//! - `relaxed reads`: `yes`.
//! - `splits`: `yes` if statements may be split.
//! - `sort keys`: `yes` if loops may run in the order of a key.
//! - `not sorted`: `REASON`: a part of the reason why a loop keeps its order. May be repeated.
//! - `renames`: `yes` if variables may get several names. In all other cases only the order
//!   changes, so that each is about one rule.
//! - `not renamed`: `REASON`: a part of the reason why a variable keeps its name. May be repeated.
//! - `distinct`: the name of an array whose elements differ. May be repeated.
//! - `function`: the function with the transaction.
//! - `schema`: a statement behind those of `schema.sql`. May be repeated.
//! - `objective`: `hold` (the default) or `position`.
//! - `statement`: `NAME = SQL`: a statement that a model of the user names. May be repeated.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clearway_reorder::{
    api::{self, Models, Server},
    clang::FrontEnd,
    ir::Program,
    legality::{Isolation, Rule},
    rewrite::{Options, Refused, Rewritten, rewrite},
    schema::{self, Schema},
    split, transform,
    weights::{Costing, Objective},
};

/// The expectation of a case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    /// The source changes to the text of the file beside it.
    Moves,
    /// The source stays as it is.
    Unchanged,
    /// The source stays as it is; a better tool would move something.
    NotYet,
    /// The tool refuses with a message that has this part.
    Refused(String),
}

/// A case.
pub(crate) struct Case {
    /// The path below `cases`, with `/`.
    pub(crate) name: String,
    /// The source.
    pub(crate) text: String,
    pub(crate) expected: Expected,
    /// The rules and parts of reasons that the report must have.
    pub(crate) keeps: Vec<(String, String)>,
    /// Parts of what is said of functions whose transactions are not found.
    pub(crate) left_open: Vec<String>,
    pub(crate) options: Options,
    /// True if variables may be renamed.
    pub(crate) renames: bool,
    /// Parts of the reasons why variables keep their names.
    pub(crate) not_renamed: Vec<String>,
    /// Parts of the reasons why loops keep their order.
    pub(crate) not_sorted: Vec<String>,
    pub(crate) models: Models,
    pub(crate) schema: Schema,
    /// True if statements may be split.
    pub(crate) splits: bool,
    path: PathBuf,
}

/// Returns the folder with the cases.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cases")
}

/// Reads all cases, in the order of their names.
pub(crate) fn all() -> Vec<Case> {
    let mut paths = Vec::new();
    for folder in list(&folder()).into_iter().filter(|path| path.is_dir()) {
        paths.extend(list(&folder).into_iter().filter(|path| is_case(path)));
    }
    paths.sort();
    paths.into_iter().map(Case::read).collect()
}

fn list(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn is_case(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    (name.ends_with(".c") || name.ends_with(".cpp")) && !name.contains(".after.")
}

impl Case {
    fn read(path: PathBuf) -> Case {
        let text = fs::read_to_string(&path).unwrap();
        Case::of(path, text)
    }

    /// Makes a case of the text of a file.
    pub(crate) fn of(path: PathBuf, text: String) -> Case {
        let name = path.strip_prefix(folder()).unwrap().to_str().unwrap().replace('\\', "/");
        let settings = settings(&text);
        let all = |key: &str| {
            let of_key = settings.iter().filter(|(one, _)| one == key);
            of_key.map(|(_, value)| value.as_str()).collect::<Vec<&str>>()
        };
        let one = |key: &str| all(key).first().copied();
        let models = models(one("api"), one("server"), &all("statement"));
        let ddl = fs::read_to_string(folder().join("schema.sql")).unwrap();
        let ddl = format!("{ddl}\n{}", all("schema").join("\n"));
        let schema = schema::parse(&ddl, models.server().unwrap());
        let options = Options {
            function: one("function").map(str::to_owned),
            isolation: one("isolation").map(|value| isolation(value, &name)),
            relaxed_reads: one("relaxed reads") == Some("yes"),
            costing: Costing { objective: objective(one("objective")), ..Costing::default() },
            sort_keys: one("sort keys") == Some("yes"),
            distinct: all("distinct").into_iter().map(str::to_owned).collect(),
            ..Options::default()
        };
        let keeps = all("keeps").into_iter().map(|value| {
            let (rule, reason) = value.split_once(", ").unwrap_or((value, ""));
            assert!(Rule::ALL.iter().any(|one| one.name() == rule), "{name}: no rule `{rule}`");
            (rule.to_owned(), reason.to_owned())
        });
        Case {
            expected: expected(one("expect").unwrap_or(""), &name),
            keeps: keeps.collect(),
            left_open: all("left open").into_iter().map(str::to_owned).collect(),
            splits: one("splits") == Some("yes"),
            renames: one("renames") == Some("yes"),
            not_renamed: all("not renamed").into_iter().map(str::to_owned).collect(),
            not_sorted: all("not sorted").into_iter().map(str::to_owned).collect(),
            options,
            models,
            schema: schema.unwrap_or_else(|error| panic!("{name}: {error}")),
            name,
            text,
            path,
        }
    }

    /// Returns the folder's name: the rule that the case is about.
    pub(crate) fn group(&self) -> &str {
        self.name.split('/').next().unwrap()
    }

    /// Returns true if the case is C++.
    pub(crate) fn is_cpp(&self) -> bool {
        self.name.ends_with(".cpp")
    }

    /// Returns the path of the source.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the expected source.
    pub(crate) fn after(&self) -> PathBuf {
        let extension = self.path.extension().unwrap().to_str().unwrap();
        self.path.with_extension(format!("after.{extension}"))
    }

    /// Parses a text of the case: its own, or a rewritten one.
    pub(crate) fn parse(&self, front_end: &FrontEnd, text: &str) -> Program {
        let parsed = front_end.parse(&self.path, Some(text), &self.flags());
        parsed.unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// Returns the flags of the compiler.
    pub(crate) fn flags(&self) -> Vec<String> {
        let standard = if self.is_cpp() { "-std=c++17" } else { "-std=gnu11" };
        let folders = [folder(), PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("runtime")];
        let folders = folders.iter().map(|folder| format!("-I{}", folder.display()));
        let system = ["/usr/include/postgresql", "/usr/include/mariadb"];
        let system = system.iter().map(|folder| format!("-I{folder}"));
        std::iter::once(standard.to_owned()).chain(folders).chain(system).collect()
    }

    /// Rewrites a text of the case, without some rules.
    pub(crate) fn rewrite(
        &self,
        front_end: &FrontEnd,
        program: &Program,
        text: &str,
        without: &[Rule],
    ) -> Result<Rewritten, Refused> {
        let options = Options { without: without.to_vec(), ..self.options.clone() };
        if !self.splits && !self.renames && !self.options.sort_keys {
            return rewrite(program, text, &self.models, &self.schema, &options);
        }
        let options = Options { no_split: !self.splits, no_rename: !self.renames, ..options };
        let parse = |text: &str| front_end.parse(&self.path, Some(text), &self.flags());
        transform::rewrite(&parse, program, text, &self.models, &self.schema, &options)
    }
}

impl Case {
    /// Returns the reasons why statements are not split.
    pub(crate) fn refused_splits(&self, program: &Program) -> Vec<String> {
        let (models, schema) = (&self.models, &self.schema);
        let found = split::candidates(program, &self.text, models, schema, &self.options);
        let refused = |one: split::Candidate| one.outcome.err().map(|refusal| refusal.to_string());
        found.into_iter().flatten().filter_map(refused).collect()
    }
}

/// Returns the settings of a head.
fn settings(text: &str) -> Vec<(String, String)> {
    const KEYS: [&str; 17] = [
        "expect",
        "keeps",
        "left open",
        "api",
        "server",
        "isolation",
        "objective",
        "relaxed reads",
        "splits",
        "sort keys",
        "not sorted",
        "renames",
        "not renamed",
        "distinct",
        "function",
        "schema",
        "statement",
    ];
    let head = text.lines().map_while(|line| line.strip_prefix("//"));
    let setting = |line: &str| {
        let (key, value) = line.split_once(':')?;
        let key = key.trim();
        KEYS.contains(&key).then(|| (key.to_owned(), value.trim().to_owned()))
    };
    head.filter_map(setting).collect()
}

fn models(api: Option<&str>, server: Option<&str>, statements: &[&str]) -> Models {
    if let Some(api) = api {
        let own = (!statements.is_empty()).then(|| {
            let lines = statements.iter().map(|one| {
                let (name, sql) = one.split_once(" = ").unwrap();
                format!("{name:?} = {sql:?}\n")
            });
            let text = format!("name = \"own\"\n[statements]\n{}", lines.collect::<String>());
            api::load(&text, "own.toml").unwrap()
        });
        return Models::new(&[api], own.as_slice()).unwrap();
    }
    let path = folder().join("shop.toml");
    let mut shop = api::load(&fs::read_to_string(&path).unwrap(), "shop.toml").unwrap();
    shop.server = Some(match server {
        None | Some("postgresql") => Server::Postgresql,
        Some("mysql") => Server::Mysql,
        Some("sqlite") => Server::Sqlite,
        Some(other) => panic!("no server `{other}`"),
    });
    shop.failure_aborts = shop.server == Some(Server::Postgresql);
    Models::new(&[], &[shop]).unwrap()
}

fn isolation(value: &str, name: &str) -> Isolation {
    match value {
        "read committed" => Isolation::ReadCommitted,
        "repeatable read" => Isolation::RepeatableRead,
        "serializable" => Isolation::Serializable,
        other => panic!("{name}: no isolation level `{other}`"),
    }
}

fn objective(value: Option<&str>) -> Objective {
    match value {
        None | Some("hold") => Objective::Hold,
        Some("position") => Objective::Position,
        Some(other) => panic!("no objective `{other}`"),
    }
}

fn expected(value: &str, name: &str) -> Expected {
    match value.split_once(", ") {
        None if value == "moves" => Expected::Moves,
        None if value == "unchanged" => Expected::Unchanged,
        Some(("not yet", _)) => Expected::NotYet,
        Some(("refused", message)) => Expected::Refused(message.to_owned()),
        _ => panic!("{name}: expect: moves | unchanged | refused, MESSAGE"),
    }
}
