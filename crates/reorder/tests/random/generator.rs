//! Makes a random program from a seed.
//!
//! Each program first draws a style: how it runs queries, how it leaves the transaction, and which
//! of the features that make programs hard to move it has. Many programs are simple enough to
//! be reordered, and the others show that the tool refuses what it must.
//!
//! All variables have values from the beginning, and all numbers stay small, so that no program has
//! undefined behaviour in any order of its statements that a correct tool returns.

mod cleaned;
mod flow;
mod keys;
mod queries;
mod sorted;
mod spelled;
mod templates;

use std::collections::BTreeSet;

use clearway_testkit::Random;

pub(crate) use cleaned::{CLEANED, cleaned};
pub(crate) use keys::keyed;
pub(crate) use sorted::sorted;
pub(crate) use spelled::spelled;

use super::program::{Program, words};

/// The way in which a program leaves the transaction when something is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaving {
    /// `goto fail`; the statement that is in use is finalized there.
    Goto,
    /// `return undo(db)`.
    Helper,
    /// `ROLLBACK` and `return`, written out.
    Written,
}

/// The parts of a program.
#[derive(Clone, Debug)]
struct Style {
    leaving: Leaving,
    /// The chances in percent that a query is run by `sqlite3_exec`, or by a helper.
    by_exec: u64,
    by_helper: u64,
    /// All prepared queries share one variable.
    shares_statement: bool,
    /// A statement is prepared once and run several times.
    keeps_statement: bool,
    /// The features.
    branches: bool,
    loops: bool,
    pointers: bool,
    globals: bool,
    early_outputs: bool,
    prints: bool,
    unknown_calls: bool,
    unknown_functions: bool,
    declares_late: bool,
    guards: bool,
    /// Bodies of branches and loops have several statements.
    long_bodies: bool,
    /// Queries of a loop share variables and buffers within an iteration.
    shares: bool,
    /// Iterations of loops end by `continue`.
    continues: bool,
    /// The tables that most queries use; all if empty.
    tables: &'static [&'static str],
}

/// Tables that belong together.
const TOPICS: [&[&str]; 6] = [
    &[],
    &["branch", "account"],
    &["account", "rich", "entry"],
    &["item", "audit", "setting"],
    &["rich", "journal", "branch"],
    &["branch", "item", "setting"],
];

impl Style {
    fn draw(random: &mut Random, bodies: &mut Random) -> Style {
        let long_bodies = bodies.chance(50);
        let shares = bodies.chance(35);
        let continues = bodies.chance(40);
        Style {
            long_bodies: long_bodies || shares,
            shares,
            continues,
            leaving: random.pick(&[Leaving::Goto, Leaving::Helper, Leaving::Written]),
            by_exec: random.pick(&[0, 0, 30, 80]),
            by_helper: random.pick(&[0, 0, 30, 80]),
            shares_statement: random.chance(60),
            keeps_statement: random.chance(20),
            branches: random.chance(60),
            loops: random.chance(50) || shares,
            pointers: random.chance(20),
            globals: random.chance(25),
            early_outputs: random.chance(25),
            prints: random.chance(12),
            unknown_calls: random.chance(6),
            unknown_functions: random.chance(10),
            declares_late: random.chance(40),
            guards: random.chance(30),
            tables: random.pick(&TOPICS),
        }
    }
}

/// The number of local variables `v0`, `v1`, ….
const LOCALS: usize = 5;

struct Generator {
    random: Random,
    style: Style,
    /// The places that may be assigned to, in this program and in C.
    places: Vec<String>,
    /// The words of the transaction's text, once it is complete.
    used: BTreeSet<String>,
    /// True if the text has a `goto fail`.
    jumps: bool,
    /// The index variables of the loops around the next statement.
    indexes: Vec<String>,
    /// The number of names that were made.
    names: usize,
    /// The query of the kept statement.
    kept: Option<templates::Template>,
    /// True if few variables and one buffer hold many values.
    reuses: bool,
    /// The key of the next query that has one, if it is chosen.
    next_key: Option<String>,
}

/// Returns the program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    make(seed, false)
}

/// Returns the program of a seed in which few variables and one buffer hold many values.
pub(crate) fn reusing(seed: u64) -> Program {
    make(seed, true)
}

fn make(seed: u64, reuses: bool) -> Program {
    let mut random = Random::stream(seed, 0);
    let style = Style::draw(&mut random, &mut Random::stream(seed, 1));
    let mut generator = Generator {
        places: Vec::new(),
        random,
        style,
        used: BTreeSet::new(),
        jumps: false,
        indexes: Vec::new(),
        names: 0,
        kept: None,
        reuses,
        next_key: None,
    };
    if reuses {
        // Of few queries that may change places.
        generator.style.branches &= generator.random.chance(50);
        generator.style.loops &= generator.random.chance(50);
        generator.style.tables = TOPICS[0];
    }
    generator.draw_places();
    let begin = generator.begin();
    let count = generator.random.between(4, 11);
    let mut groups = Vec::new();
    for _ in 0..count {
        generator.statement(0, &mut groups);
    }
    end_early(&mut Random::stream(seed, 2), &mut groups);
    generator.used = words(&[begin.join("\n"), groups.join("\n")].join("\n"));
    if generator.has("where") {
        generator.used.insert("v0".to_string());
    }
    let tail = generator.end();
    let mut head = generator.declarations();
    head.push(String::new());
    head.extend(begin);
    Program { seed, name: format!("t{seed}"), head, groups, tail }
}

/// Adds to few programs a call that may commit or roll back, behind which the program goes on.
fn end_early(random: &mut Random, groups: &mut Vec<String>) {
    if random.chance(8) {
        let (helper, value) =
            (random.pick(&["commit_if", "undo_if"]), random.pick(&["in->a", "in->b", "in->n"]));
        let at = random.below(groups.len() as u64 / 2 + 1) as usize;
        groups.insert(at, format!("{helper}(db, {value});"));
    }
}

impl Generator {
    fn draw_places(&mut self) {
        for local in 0..LOCALS {
            self.places.push(format!("v{local}"));
        }
        let mut add = |wanted: bool, places: &[&str]| {
            if wanted {
                self.places.extend(places.iter().map(ToString::to_string));
            }
        };
        add(self.style.pointers, &["p.first", "p.second", "sums[1]", "*extra", "*where"]);
        add(self.style.globals, &["seen", "counters[1]", "counters[2]"]);
        add(self.style.early_outputs, &["out->x", "out->y", "out->list[1]"]);
    }

    fn has(&self, name: &str) -> bool {
        self.used.contains(name)
    }

    /// Returns the code from the begin of the transaction.
    fn begin(&mut self) -> Vec<String> {
        let begin = self.random.pick(&["BEGIN", "BEGIN IMMEDIATE"]);
        let mut lines = vec![
            format!("if (sqlite3_exec(db, \"{begin}\", NULL, NULL, NULL) != SQLITE_OK)"),
            "    return -1;".to_string(),
        ];
        if self.style.keeps_statement {
            let template = self.random.pick(templates::WRITES);
            if template.parameters.iter().all(|one| *one != templates::Parameter::Text) {
                self.kept = Some(template);
                let sql = template.sql;
                let mut leave = self.leave();
                leave.iter_mut().for_each(|line| line.insert_str(0, "    "));
                lines.push(format!(
                    "if (sqlite3_prepare_v2(db, \"{sql}\", -1, &kept, NULL) != SQLITE_OK) {{"
                ));
                lines.extend(leave);
                lines.push("}".to_string());
            }
        }
        lines
    }

    /// Returns the code from the commit.
    fn end(&mut self) -> Vec<String> {
        let mut lines =
            vec!["if (sqlite3_exec(db, \"COMMIT\", NULL, NULL, NULL) != SQLITE_OK) {".to_string()];
        lines.extend(self.leave().into_iter().map(|line| format!("    {line}")));
        lines.push("}".to_string());
        if self.has("kept") {
            lines.push("sqlite3_finalize(kept);".to_string());
        }
        let mut outputs = ["out->x", "out->y", "out->z", "out->list[2]", "out->list[3]"].iter();
        for local in 0..LOCALS {
            let name = format!("v{local}");
            if self.has(&name) {
                lines.push(format!("{} = {name};", outputs.next().expect("one for each local")));
            }
        }
        for name in ["p.first", "p.second", "sums[1]"] {
            if self.has(&name[..name.find(['.', '[']).unwrap_or(0)]) {
                lines.push(format!("out->list[0] = (out->list[0] * 3 + {name}) % 1000;"));
            }
        }
        if self.has("slots") {
            for slot in 0..4 {
                lines.push(format!("out->list[0] += slots[{slot}] > {} ? 1 : 0;", slot * 9));
                lines.push(format!("out->list[0] += slots[{slot}] % 2 ? 1 : 0;"));
            }
        }
        if self.has("buffer") {
            let last = match self.random.chance(50) {
                true => "strcpy(out->text, buffer);",
                false => "out->list[0] += buffer[0] == '1';",
            };
            lines.push(last.to_string());
        }
        if !self.has("extra") {
            lines.push("*extra = 1;".to_string());
        }
        if !self.has("in") {
            lines.push("out->list[0] += in->a;".to_string());
        }
        lines.push("return 0;".to_string());
        if self.jumps {
            lines.push("fail:".to_string());
            for name in ["stmt", "kept"] {
                if self.has(name) {
                    lines.push(format!("sqlite3_finalize({name});"));
                }
            }
            lines.push("sqlite3_exec(db, \"ROLLBACK\", NULL, NULL, NULL);".to_string());
            lines.push("return 1;".to_string());
        }
        lines
    }

    /// Returns the declarations of what the text uses.
    fn declarations(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for local in 0..LOCALS {
            let value = self.random.pick(&["0", "in->a", "in->n", "3"]);
            if self.has(&format!("v{local}")) {
                lines.push(format!("int v{local} = {value};"));
            }
        }
        let others = [
            ("p", "struct pair p = { 1, 2 };"),
            ("sums", "int sums[4] = { 0, 0, 0, 0 };"),
            ("slots", "int slots[4] = { 1, 2, 3, 4 };"),
            ("where", "int *where = &v0;"),
            ("rc", "int rc;"),
            ("i", "int i;"),
            ("j", "int j;"),
            ("stmt", "sqlite3_stmt *stmt = NULL;"),
            ("kept", "sqlite3_stmt *kept = NULL;"),
            ("sql", "char sql[200];"),
            ("digits", "char digits[12] = \"\";"),
            ("buffer", "char buffer[24] = \"\";"),
        ];
        let used = others.iter().filter(|(name, _)| self.has(name));
        lines.extend(used.map(|(_, declaration)| declaration.to_string()));
        lines
    }

    /// Returns the code that leaves the transaction.
    fn leave(&mut self) -> Vec<String> {
        match self.style.leaving {
            Leaving::Goto => {
                self.jumps = true;
                vec!["goto fail;".to_string()]
            }
            Leaving::Helper => vec!["return undo(db);".to_string()],
            Leaving::Written => vec![
                "sqlite3_exec(db, \"ROLLBACK\", NULL, NULL, NULL);".to_string(),
                "return 1;".to_string(),
            ],
        }
    }

    /// Returns `if (condition)` with the code that leaves the transaction.
    fn leave_if(&mut self, condition: &str) -> String {
        let leave = self.leave();
        if let [only] = &leave[..] {
            return format!("if ({condition})\n    {only}");
        }
        format!("if ({condition}) {{\n    {}\n}}", leave.join("\n    "))
    }
}

/// Moves a text to the right.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
