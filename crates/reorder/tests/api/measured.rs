//! From an instrumented program over its profile to an order with measured costs.
//!
//! The program has a database interface of its own: four functions that sleep. The tests need
//! libclang and gcc. Without them they say SKIPPED; if `CLEARWAY_REQUIRE_LIBCLANG` is set, they
//! fail.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use clearway_reorder::{
    api::{self, Models},
    clang::FrontEnd,
    explain,
    ir::Program,
    profile::{Instrumented, Key, Profile, RUNTIME, Weights, instrument},
    rewrite::{Options, Refused, Rewritten, rewrite},
    schema,
    weights::{Costing, Objective},
};

const MODEL: &str = r#"
name = "shop"
server = "postgresql"
failure_aborts = true
[calls]
run = { role = "query", sql = 0, reads = [0], status = true, success = [0] }
quietly = { role = "query", sql = 0, reads = [0] }
"#;

const DDL: &str = "
CREATE TABLE a (id integer PRIMARY KEY, x integer);
CREATE TABLE b (id integer PRIMARY KEY, x integer);
CREATE TABLE c (id integer PRIMARY KEY, x integer);
";

/// A transaction whose first query waits, so that it is the one to come last.
const SOURCE: &str = r#"#define _GNU_SOURCE
#ifdef MISSING
#include <missing.h>
#endif
#include <stdio.h>
#include <unistd.h>

/* The interface: a query of `a` waits in each second transaction. */
static int executed;
int run(const char *sql);
void quietly(const char *sql);

#define SUCCEED(query) if (run(query) != 0) return roll_back()

static int roll_back(void)
{
    quietly("ROLLBACK");
    return -1;
}

static int add_to_c(void)
{
    return run("UPDATE c SET x = x + 1 WHERE id = 1");
}

int transaction(int times)
{
    if (run("BEGIN") != 0)
        return roll_back();
    SUCCEED("UPDATE a  SET x = x + 1 WHERE id = 1");
    for (int i = 0; i < times; i++)
        if (run("UPDATE b SET x = x + 1 WHERE id = 1") != 0)
            return roll_back();
    if (add_to_c() != 0)
        return roll_back();
    if (run("COMMIT") != 0)
        return roll_back();
    return 0;
}

int run(const char *sql)
{
    if (sql[0] == 'U' && sql[7] == 'a' && executed++ % 2)
        usleep(20000);
    return 0;
}

void quietly(const char *sql) { puts(sql); }

int main(void)
{
    int status = __LINE__ == 52 ? 0 : 1;
    for (int i = 0; i < 40; i++)
        status |= transaction(3);
    return status;
}
"#;

/// The parsed program, with the model of its interface.
struct Shop {
    source: String,
    program: Program,
    models: Models,
}

/// Returns the parsed program; `None` with a message if libclang or gcc is missing.
fn shop() -> Option<Shop> {
    shop_with(SOURCE.to_owned())
}

/// The same for another source.
fn shop_with(source: String) -> Option<Shop> {
    let gcc = Command::new("gcc").arg("--version").output();
    let missing = FrontEnd::load().err().map(|error| error.to_string());
    if let Some(reason) = missing.or_else(|| gcc.err().map(|error| format!("gcc: {error}"))) {
        assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{reason}");
        eprintln!("SKIPPED: {reason}");
        return None;
    }
    let models = Models::new(&[], &[api::load(MODEL, "shop.toml").unwrap()]).unwrap();
    let front_end = FrontEnd::load().unwrap();
    let program = front_end.parse(Path::new("shop.c"), Some(&source), &[]).unwrap();
    Some(Shop { source, program, models })
}

impl Shop {
    fn instrumented(&self) -> Instrumented {
        instrument(&self.program, &self.source, &self.models, Some("transaction")).unwrap()
    }

    fn rewritten(&self, costing: Costing) -> Result<Rewritten, Refused> {
        let schema = schema::parse(DDL, self.models.server().unwrap()).unwrap();
        let function = Some("transaction".to_owned());
        let options = Options { function, costing, ..Options::default() };
        rewrite(&self.program, &self.source, &self.models, &schema, &options)
    }
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{command:?}: {errors}");
    output
}

/// Compiles and runs an instrumented program, and returns its profile.
fn profile(instrumented: &Instrumented) -> Profile {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in RUNTIME.iter().chain(&[("shop.c", instrumented.text.as_str())]) {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", "shop"];
    let files = ["shop.c", "clearway_profile.c"];
    run(Command::new("gcc").args(flags).args(files).current_dir(folder.path()));
    let path = folder.path().join("shop.json");
    run(Command::new(folder.path().join("shop")).env("CLEARWAY_PROFILE", &path));
    Profile::read(&path).unwrap()
}

fn key(sql: &str) -> Key {
    Key::new("transaction", sql, 0)
}

/// Returns the tables in the order in which a text updates them.
fn order(text: &str) -> String {
    let body = &text[text.find("int transaction").unwrap()..];
    let mut tables: Vec<(usize, char)> = Vec::new();
    for (words, table) in [("UPDATE a", 'a'), ("UPDATE b", 'b'), ("add_to_c()", 'c')] {
        tables.push((body.find(words).unwrap(), table));
    }
    tables.sort_unstable();
    tables.into_iter().map(|(_, table)| table).collect()
}

#[test]
fn instrumented_program_measures_each_call_under_the_key_of_its_query() {
    let Some(shop) = shop() else { return };
    let instrumented = shop.instrumented();
    assert!(instrumented.left_out.is_empty(), "{:?}", instrumented.left_out);
    let profile = profile(&instrumented);
    let count = |sql: &str| profile.queries.get(&key(sql)).map(|times| times.count);
    assert_eq!(count("BEGIN"), Some(40), "{:?}", profile.queries.keys());
    assert_eq!(count("UPDATE a SET x = x + 1 WHERE id = 1"), Some(40), "through a macro");
    assert_eq!(count("UPDATE b SET x = x + 1 WHERE id = 1"), Some(120), "in a loop");
    assert_eq!(count("UPDATE c SET x = x + 1 WHERE id = 1"), Some(40), "in a function");
    assert_eq!(count("COMMIT"), Some(40));
    assert_eq!(profile.queries.len(), 5, "the rollback of an exit is not measured");
}

#[test]
fn instrumented_text_differs_only_by_what_it_measures() {
    let Some(shop) = shop() else { return };
    let text = shop.instrumented().text;
    let (before, rest) = text.split_once("\n\n#include \"clearway_profile.h\"").unwrap();
    assert!(before.ends_with("#include <stdio.h>"), "{before}");
    let (_, rest) = rest.split_once("#line 6").unwrap();
    let mut restored = format!("{before}{rest}");
    while let Some(at) = restored.find("CLEARWAY_QUERY(") {
        let id = at + restored[at..].find("], ").unwrap() + 3;
        restored.replace_range(at..id, "");
        let inner = at + restored[at..].find(')').unwrap();
        restored.remove(inner);
    }
    assert_eq!(restored, SOURCE);
}

/// Asserts that a profile brings the query of `a` behind the others.
fn assert_a_comes_last(shop: &Shop, profile: &Profile, objective: Objective) {
    for weights in [Weights::Stddev, Weights::Wait] {
        let costing = Costing { profile: Some(profile.clone()), weights, objective };
        let rewritten = shop.rewritten(costing).unwrap();
        let report = explain::explain(&rewritten.transactions[0]);
        assert!(order(&rewritten.text).ends_with('a'), "{weights:?} {objective:?}: {report}");
    }
}

#[test]
fn measured_query_that_waits_comes_last() {
    let Some(shop) = shop() else { return };
    assert_a_comes_last(&shop, &profile(&shop.instrumented()), Objective::Position);
    // All updates weigh the same by the estimate, but the loop of one takes the time of ten.
    let estimated = |objective| {
        let costing = Costing { objective, ..Costing::default() };
        order(&shop.rewritten(costing).unwrap().text)
    };
    assert_eq!(estimated(Objective::Position), "abc");
    assert_eq!(estimated(Objective::Hold), "bac");
}

#[test]
fn query_that_waits_holds_its_lock_for_the_shortest_time() {
    let Some(shop) = shop() else { return };
    let mut profile = Profile::default();
    for (table, times) in [('a', [10, 900]), ('b', [100, 110]), ('c', [200, 210])] {
        let sql = format!("UPDATE {table} SET x = x + 1 WHERE id = 1");
        let measured = profile.queries.entry(key(&sql)).or_default();
        times.into_iter().for_each(|time| measured.add(time));
    }
    assert_a_comes_last(&shop, &profile, Objective::Hold);
}

#[test]
fn hold_counts_each_query_as_often_as_a_transaction_executes_it() {
    let Some(shop) = shop() else { return };
    let mut profile = Profile::default();
    for (sql, times, count, alone) in [
        ("BEGIN", [10, 10], 10, 10),
        ("UPDATE a SET x = x + 1 WHERE id = 1", [0, 100], 5, 40),
        ("UPDATE b SET x = x + 1 WHERE id = 1", [0, 100], 30, 50),
    ] {
        let measured = profile.queries.entry(key(sql)).or_default();
        (0..count).for_each(|number: usize| measured.add(times[number % 2]));
        profile.alone.entry(key(sql)).or_default().add(alone);
    }
    let costs = |objective| {
        let costing = Costing { profile: Some(profile.clone()), objective, ..Costing::default() };
        let rewritten = shop.rewritten(costing).unwrap();
        let report = &rewritten.transactions[0];
        let unknown: Vec<String> = report.unmeasured.iter().map(|key| key.sql.clone()).collect();
        assert_eq!(unknown, ["UPDATE c SET x = x + 1 WHERE id = 1", "COMMIT"]);
        assert!(explain::explain(report).contains("the profile does not have"));
        let cost = |sql: &str| {
            let mut units = report.units.iter();
            let unit = units.find(|unit| unit.queries.iter().any(|query| query.contains(sql)));
            unit.map(|unit| (unit.cost.weight, unit.cost.length)).unwrap()
        };
        [cost("UPDATE a"), cost("UPDATE b"), cost("UPDATE c")]
    };
    // Half of 49 and three times 50, of a deviation of 50 and times of 40 and 50 alone.
    assert_eq!(costs(Objective::Hold), [(25, 20), (150, 150), (0, 0)]);
    assert_eq!(costs(Objective::Position), [(49, 1), (50, 1), (0, 1)]);
}

#[test]
fn plain_read_has_a_weight_only_by_its_position() {
    const UPDATE: &str = "UPDATE b SET x = x + 1 WHERE id = 1";
    for (read, hold) in
        [("SELECT x FROM b WHERE id = 1", 0), ("SELECT x FROM b WHERE id = 1 FOR UPDATE", 50)]
    {
        let Some(shop) = shop_with(SOURCE.replace(UPDATE, read)) else { return };
        let mut profile = Profile::default();
        for sql in ["BEGIN", read] {
            let measured = profile.queries.entry(key(sql)).or_default();
            [0, 100].into_iter().for_each(|time| measured.add(time));
        }
        let weight = |objective| {
            let costing =
                Costing { profile: Some(profile.clone()), objective, ..Costing::default() };
            let rewritten = shop.rewritten(costing).unwrap();
            let mut units = rewritten.transactions[0].units.iter();
            let unit = units.find(|unit| unit.queries.iter().any(|query| query == read));
            unit.map(|unit| unit.cost.weight).unwrap()
        };
        assert_eq!([weight(Objective::Position), weight(Objective::Hold)], [50, hold], "{read}");
    }
}

#[test]
fn profile_of_other_queries_is_refused() {
    let Some(shop) = shop() else { return };
    let mut profile = Profile::default();
    profile.queries.entry(Key::new("other", "BEGIN", 0)).or_default().add(10);
    let costing = Costing { profile: Some(profile), ..Costing::default() };
    let refused = shop.rewritten(costing).unwrap_err();
    assert!(matches!(&refused, Refused::NotMeasured(name) if name == "transaction"), "{refused}");
}
