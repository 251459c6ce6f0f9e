//! Splits of loops and conditional statements: for each rule a statement that is split, and one
//! that is not. Without libclang the tests print SKIPPED and pass, unless
//! `CLEARWAY_REQUIRE_LIBCLANG` is set.

mod conditional;
mod examples;
mod fission;
mod kept_values;
mod keys;
mod search;

use std::path::Path;

use clearway_reorder::{
    api::{self, Models},
    clang::FrontEnd,
    ir::Program,
    legality::Isolation,
    rewrite::{Options, Rewritten},
    schema::{self, Schema},
    source,
    split::{self, Candidate},
    transform,
};

/// An interface with queries that return numbers, or 0 for success.
const MODEL: &str = r#"
name = "shop"
server = "postgresql"
failure_aborts = true
[calls]
get = { role = "query", sql = 0, reads = [0] }
put = { role = "query", sql = 0, reads = [0] }
run = { role = "query", sql = 0, reads = [0], status = true, success = [0] }
text = { role = "query", sql = 0, reads = [0, 1] }
format = { reads = [1], writes = [{ argument = 0, whole = true }] }
next = { }
note = { outside = true }
random_number = { outside = true }
"#;

const PROTOTYPES: &str = "
int get(const char *sql, int key);
int put(const char *sql, int key, int value);
int run(const char *sql);
int text(const char *sql, const char *value);
void format(char *text, const char *format, int value);
int next(int value);
void note(int value);
int random_number(int most);
int unknown(int value);
";

const DDL: &str = "
CREATE TABLE hot (id integer PRIMARY KEY, x integer);
CREATE TABLE a (id integer PRIMARY KEY, x integer);
CREATE TABLE b (id integer PRIMARY KEY, x integer);
CREATE TABLE parent (id integer PRIMARY KEY, x integer);
CREATE TABLE child (id integer PRIMARY KEY, parent integer REFERENCES parent (id));
CREATE TABLE first (id integer PRIMARY KEY, hot integer REFERENCES hot (id));
CREATE TABLE second (id integer PRIMARY KEY, hot integer REFERENCES hot (id));
";

/// The statements that the cases use.
const GET_A: &str = r#"get("SELECT x FROM a WHERE id = $1", "#;
const PUT_A: &str = r#"put("UPDATE a SET x = $2 WHERE id = $1", "#;
const GET_B: &str = r#"get("SELECT x FROM b WHERE id = $1", "#;
const PUT_B: &str = r#"put("UPDATE b SET x = $2 WHERE id = $1", "#;

/// Everything that a case needs.
struct Shop {
    front_end: FrontEnd,
    models: Models,
    schema: Schema,
    cpp: bool,
    options: Options,
}

/// Returns the shop; `None` with a message without libclang.
fn shop() -> Option<Shop> {
    let front_end = match FrontEnd::load() {
        Ok(front_end) => front_end,
        Err(error) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let models = Models::new(&[], &[api::load(MODEL, "shop.toml").unwrap()]).unwrap();
    let schema = schema::parse(DDL, models.server().unwrap()).unwrap();
    let options = Options { isolation: Some(Isolation::Serializable), ..Options::default() };
    Some(Shop { front_end, models, schema, cpp: false, options })
}

/// Returns a source with a transaction. In its body, `GET_A(…` and the like stand for queries.
fn source(body: &str) -> String {
    let mut body = body.trim_matches('\n').to_string();
    for (short, long) in
        [("GET_A(", GET_A), ("PUT_A(", PUT_A), ("GET_B(", GET_B), ("PUT_B(", PUT_B)]
    {
        body = body.replace(short, long);
    }
    format!(
        "{PROTOTYPES}\nint transaction(int n, int c, int *out, int *list)\n{{\n    \
         run(\"BEGIN\");\n{body}\n    run(\"COMMIT\");\n    return 0;\n}}\n"
    )
}

impl Shop {
    fn parse(&self, text: &str) -> Program {
        let (name, flags) = match self.cpp {
            true => ("shop.cpp", vec!["-std=c++17".to_string()]),
            false => ("shop.c", Vec::new()),
        };
        let parsed = self.front_end.parse(Path::new(name), Some(text), &flags);
        parsed.unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn candidates(&self, text: &str) -> Vec<Candidate> {
        let program = self.parse(text);
        split::candidates(&program, text, &self.models, &self.schema, &self.options).unwrap()
    }

    /// Makes the first legal split, again and again, and returns the transaction's body.
    fn split(&self, body: &str) -> String {
        let mut text = source(body);
        let (start, end) = (text.find("run(\"BEGIN\");\n").unwrap() + 14, "\n    run(\"COMMIT\")");
        for _ in 0..20 {
            let candidates = self.candidates(&text);
            let Some(edits) = candidates.into_iter().find_map(|one| one.outcome.ok()) else {
                let body = &text[start..text.find(end).unwrap()];
                return [
                    ("GET_A(", GET_A),
                    ("PUT_A(", PUT_A),
                    ("GET_B(", GET_B),
                    ("PUT_B(", PUT_B),
                ]
                .into_iter()
                .fold(body.to_string(), |body, (short, long)| body.replace(long, short));
            };
            text = source::apply(&text, &edits);
        }
        panic!("it is split without an end:\n{text}");
    }

    /// Checks that a body is split into another.
    fn splits(&self, before: &str, after: &str) {
        let split = self.split(before);
        if split != after.trim_matches('\n') {
            let reasons = self.candidates(&source(before));
            panic!("{split}\ninstead of{after}\n{reasons:#?}");
        }
    }

    /// Checks that a body is not split, for these reasons.
    fn refuses(&self, body: &str, reasons: &[&str]) {
        let candidates = self.candidates(&source(body));
        let found = candidates.iter().map(|one| match &one.outcome {
            Ok(_) => format!("split behind line {}", one.split.behind),
            Err(refusal) => refusal.to_string(),
        });
        let found: Vec<String> = found.collect();
        assert!(
            !found.is_empty()
                && found.iter().all(|one| reasons.iter().any(|reason| one.contains(reason)))
                && reasons.iter().all(|reason| found.iter().any(|one| one.contains(reason))),
            "{body}\nis refused for {found:#?} instead of {reasons:#?}"
        );
    }

    fn rewritten(&self, text: &str) -> Rewritten {
        let program = self.parse(text);
        let parse = |text: &str| Ok::<_, ()>(self.parse(text));
        let (models, schema) = (&self.models, &self.schema);
        let options = Options { no_rename: true, ..self.options.clone() };
        transform::rewrite(&parse, &program, text, models, schema, &options).unwrap()
    }
}
