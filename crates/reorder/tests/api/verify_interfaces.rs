//! `verify` on programs for MySQL and SQLite: reordered ones are equal, mistakes are found, and
//! what no run reached is named.
//!
//! The tests need libclang, gcc, `mysql.h` and `sqlite3.h`. Without them they say SKIPPED; if
//! `CLEARWAY_REQUIRE_LIBCLANG`, `CLEARWAY_REQUIRE_MYSQL` or `CLEARWAY_REQUIRE_SQLITE` is set, they
//! fail.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clearway_reorder::{
    api::Models,
    clang::FrontEnd,
    ir::Program,
    rewrite::{self, rewrite},
    schema::{self, Schema},
    verify::{
        self, Difference, Interface, Knowledge, MYSQL, Report, SQLITE, Verdict, VerifyError, verify,
    },
};

/// A program with all that is known of it.
struct Source {
    interface: &'static Interface,
    function: &'static str,
    path: PathBuf,
    text: String,
    program: Program,
    models: Models,
    schema: Schema,
}

fn skip(variable: &str, reason: &str) {
    assert!(std::env::var_os(variable).is_none(), "{reason}");
    eprintln!("SKIPPED: {reason}");
}

fn required(interface: &Interface) -> &'static str {
    if interface.name == "mysql" { "CLEARWAY_REQUIRE_MYSQL" } else { "CLEARWAY_REQUIRE_SQLITE" }
}

fn flags() -> Vec<String> {
    vec!["-I/usr/include/mariadb".to_owned()]
}

impl Source {
    /// Reads a program; `None` with a message if libclang or a header is missing.
    fn read(name: &str, function: &'static str) -> Option<Source> {
        let interface = if name.starts_with("mysql") { &MYSQL } else { &SQLITE };
        let header = match interface.name {
            "mysql" => "/usr/include/mariadb/mysql.h",
            _ => "/usr/include/sqlite3.h",
        };
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
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify").join(name);
        let text = fs::read_to_string(&path).unwrap();
        let models = Models::new(&[interface.name], &[]).unwrap();
        let ddl = fs::read_to_string(path.with_file_name("bank.sql")).unwrap();
        let schema = schema::parse(&ddl, models.server().unwrap()).unwrap();
        let program = front_end.parse(&path, Some(&text), &flags()).unwrap();
        Some(Source { interface, function, path, text, program, models, schema })
    }

    /// Returns the reordered text.
    fn reordered(&self) -> String {
        let options = rewrite::Options::default();
        rewrite(&self.program, &self.text, &self.models, &self.schema, &options).unwrap().text
    }

    /// Returns the text with some words replaced, which must occur.
    fn spoiled(&self, old: &str, new: &str) -> String {
        assert!(self.text.contains(old), "{old}");
        self.text.replace(old, new)
    }

    /// Compares the program with another text; `None` with a message if there is no compiler.
    fn compared(&self, text: &str) -> Option<Report> {
        let place = tempfile::tempdir().unwrap();
        let rewritten = place.path().join(self.path.file_name().unwrap());
        fs::write(&rewritten, text).unwrap();
        let knowledge = Knowledge::new(&self.schema, self.models.server().unwrap());
        let analyze = |sql: &str| knowledge.analyze(sql);
        let key = |table: &str| knowledge.key(table);
        let mut options = verify::Options::new(self.interface, &analyze, &key);
        options.columns = knowledge.columns();
        options.keys = knowledge.keys();
        options.flags = flags();
        options.seeds = 4;
        options.sanitize = false;
        options.sites = verify::sites(&self.program, &self.models, &self.text, self.function);
        match verify(&self.path, &rewritten, &self.program, self.function, &options) {
            Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
                skip(required(self.interface), &error.to_string());
                None
            }
            other => Some(other.unwrap_or_else(|error| panic!("{error}"))),
        }
    }
}

/// Asserts that the tool moves something, and that the comparison finds no difference.
fn assert_moves_and_is_equal(name: &str, function: &'static str) {
    let Some(source) = Source::read(name, function) else { return };
    let text = source.reordered();
    assert_ne!(text, source.text, "nothing moves");
    let Some(report) = source.compared(&text) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.committed >= 4 && report.rolled_back > 4, "{report}");
    assert!(report.skipped.is_empty(), "{report}");
}

/// Asserts that a difference of the wanted kind is found in a text.
fn assert_differs(source: &Source, text: &str, wanted: impl Fn(&Difference) -> bool) {
    let Some(report) = source.compared(text) else { return };
    let mut found = report.divergences.iter().flat_map(|divergence| &divergence.differences);
    assert!(found.any(wanted), "{report}");
}

/// Returns the text with the part from `first` to `second` behind that from `second` to `end`.
fn swapped(text: &str, first: &str, second: &str, end: &str) -> String {
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}"));
    let (first, second, end) = (at(first), at(second), at(end));
    [&text[..first], &text[second..end], &text[first..second], &text[end..]].concat()
}

#[test]
fn transfer_over_mysql_is_equal() {
    assert_moves_and_is_equal("mysql_transfer.c", "transfer");
}

#[test]
fn transfer_with_statements_of_sqlite_is_equal() {
    assert_moves_and_is_equal("sqlite_transfer.c", "transfer");
}

#[test]
fn transfer_with_texts_of_sqlite_is_equal() {
    assert_moves_and_is_equal("sqlite_texts.c", "transfer");
}

#[test]
fn program_in_cpp_is_equal() {
    let Some(source) = Source::read("sqlite_classes.cpp", "rename_account") else { return };
    let Some(report) = source.compared(&source.reordered()) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
}

#[test]
fn missing_query_is_found() {
    let missing = |difference: &Difference| {
        matches!(difference, Difference::Missing(query)
            if query.contains("b_total"))
    };
    if let Some(mysql) = Source::read("mysql_transfer.c", "transfer") {
        let from = "    snprintf(sql, sizeof sql, \"UPDATE bank";
        let to = "    snprintf(sql, sizeof sql, \"UPDATE account";
        let text = swapped(&mysql.text, from, to, to);
        let cut = mysql.text.find(to).unwrap() - mysql.text.find(from).unwrap();
        let at = text.find(from).unwrap();
        assert_differs(&mysql, &[&text[..at], &text[at + cut..]].concat(), missing);
    }
    if let Some(sqlite) = Source::read("sqlite_transfer.c", "transfer") {
        // The first step is that of the bank.
        let text = sqlite.text.replacen("sqlite3_step(stmt)", "SQLITE_DONE", 1);
        assert_differs(&sqlite, &text, missing);
    }
}

#[test]
fn swapped_queries_of_one_row_are_found() {
    let order = |difference: &Difference| {
        matches!(difference, Difference::Order { first, second }
            if first.starts_with("UPDATE account") && second.starts_with("SELECT a_balance"))
    };
    if let Some(mysql) = Source::read("mysql_transfer.c", "transfer") {
        let text = swapped(
            &mysql.text,
            "    snprintf(sql, sizeof sql, \"UPDATE account",
            "    snprintf(sql, sizeof sql, \"SELECT a_balance",
            "    if (add_entry(",
        );
        assert_differs(&mysql, &text, order);
    }
    if let Some(sqlite) = Source::read("sqlite_transfer.c", "transfer") {
        let text = swapped(
            &sqlite.text,
            "    if (sqlite3_prepare_v2(db, \"UPDATE account",
            "    if (sqlite3_prepare_v2(db, \"SELECT a_balance",
            "    if (sqlite3_exec(db, \"COMMIT\"",
        );
        assert_differs(&sqlite, &text, order);
    }
}

#[test]
fn lost_output_is_found() {
    let lost = |difference: &Difference| {
        matches!(difference, Difference::Output { path, .. }
            if path == "t.balance")
    };
    let files = [
        ("mysql_transfer.c", "t->balance = atoi(row[0]);"),
        ("sqlite_transfer.c", "t->balance = sqlite3_column_int(stmt, 0);"),
        ("sqlite_texts.c", "t->balance = (int)sqlite3_last_insert_rowid(db);"),
    ];
    for (file, line) in files {
        if let Some(source) = Source::read(file, "transfer") {
            assert_differs(&source, &source.spoiled(line, ""), lost);
        }
    }
}

#[test]
fn line_printed_before_the_commit_is_found() {
    let printed = |difference: &Difference| {
        matches!(difference, Difference::Printed { original, rewritten, .. }
            if original.is_empty() && rewritten.starts_with("moved"))
    };
    let files = [
        ("mysql_transfer.c", "    if (mysql_commit(conn) != 0)"),
        ("sqlite_transfer.c", "    if (sqlite3_exec(db, \"COMMIT\""),
    ];
    for (file, commit) in files {
        if let Some(source) = Source::read(file, "transfer") {
            let line = "    printf(\"moved %d\\n\", t->amount);\n";
            let text = source.spoiled(line, "");
            let text = text.replacen(commit, &format!("{line}{commit}"), 1);
            assert_differs(&source, &text, printed);
        }
    }
}

#[test]
fn value_that_a_statement_reads_too_late_is_found() {
    let extra = |difference: &Difference| {
        matches!(difference, Difference::Extra(query)
            if query.starts_with("INSERT INTO entry"))
    };
    let Some(mysql) = Source::read("mysql_transfer.c", "transfer") else { return };
    let text = mysql.spoiled("(void *)&t->amount", "(void *)&t->balance");
    assert_differs(&mysql, &text, extra);
}

/// A program whose statements are bound in a function that it does not call is played with that
/// function, so that memory which is written too early shows.
fn assert_bound_elsewhere(name: &str, function: &'static str, swap: [&str; 3], query: &str) {
    let Some(source) = Source::read(name, function) else { return };
    let Some(report) = source.compared(&source.text) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.committed >= 4, "{report}");
    assert!(report.notes.iter().any(|note| note.contains("is called first")), "{report}");
    let [first, second, end] = swap;
    let text = swapped(&source.text, first, second, end);
    let extra = |difference: &Difference| {
        matches!(difference, Difference::Extra(text)
            if text.starts_with(query))
    };
    assert_differs(&source, &text, extra);
}

#[test]
fn write_of_memory_that_another_function_bound_is_found() {
    let swap = [
        "    if (mysql_stmt_execute(add_to_bank)",
        "    amount = value + 1;",
        "    account = number;",
    ];
    assert_bound_elsewhere("mysql_bound.c", "deposit", swap, "UPDATE bank");
}

#[test]
fn write_of_a_text_in_a_structure_that_another_function_bound_is_found() {
    let swap = [
        "    code = sqlite3_step(all->rename);",
        "    all->name[0] = 'z';",
        "    if (sqlite3_exec(db, \"COMMIT\"",
    ];
    assert_bound_elsewhere("sqlite_bound.c", "rename_account", swap, "UPDATE account");
}

#[test]
fn rows_of_a_finalized_statement_are_found() {
    let Some(sqlite) = Source::read("sqlite_transfer.c", "transfer") else { return };
    let read = "    t->balance = sqlite3_column_int(stmt, 0);\n";
    let text = sqlite.spoiled(read, "").replacen(
        "    sqlite3_finalize(stmt);\n\n    if (sqlite3_exec(db, \"COMMIT\"",
        &format!("    sqlite3_finalize(stmt);\n{read}    if (sqlite3_exec(db, \"COMMIT\""),
        1,
    );
    assert_differs(
        &sqlite,
        &text,
        |difference| matches!(difference, Difference::Misuse(what) if what.contains("finalized")),
    );
}

#[test]
fn query_while_rows_are_unread_is_found() {
    let Some(mysql) = Source::read("mysql_transfer.c", "transfer") else { return };
    let text = mysql.spoiled("mysql_store_result(conn)", "mysql_use_result(conn)");
    let text = text.replace(
        "    mysql_free_result(res);\n    if (add_entry(conn, t) != 0)",
        "    if (add_entry(conn, t) != 0)",
    );
    assert_differs(&mysql, &text, |difference| {
        matches!(difference, Difference::Misuse(what)
                if what.contains("are not read"))
    });
}

#[test]
fn rows_have_the_values_that_the_program_compares_with() {
    let Some(source) = Source::read("sqlite_branches.c", "needs_constants") else { return };
    let Some(report) = source.compared(&source.text) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.committed > 0, "{report}");
}

#[test]
fn query_that_no_run_sends_is_named_and_qualifies_the_verdict() {
    let Some(source) = Source::read("sqlite_branches.c", "never_sends") else { return };
    let Some(report) = source.compared(&source.text) else { return };
    assert_eq!(report.verdict(), Verdict::Incomplete, "{report}");
    assert!(report.committed > 0, "{report}");
    let [site] = &report.unreached[..] else { panic!("{report}") };
    assert!(site.call.contains("UPDATE bank SET b_total = 7"), "{report}");
    let line = 1 + source.text.lines().position(|line| line.contains("b_total = 7")).unwrap();
    let text = report.to_string();
    assert!(text.contains("no difference in what ran, but 1 calls"), "{text}");
    assert!(text.contains(&format!("never ran: line {line}: sqlite3_exec")), "{text}");
}

#[test]
fn program_that_never_commits_is_not_equal() {
    let Some(source) = Source::read("sqlite_branches.c", "never_commits") else { return };
    let Some(report) = source.compared(&source.text) else { return };
    assert_eq!(report.verdict(), Verdict::Inconclusive, "{report}");
    assert!(report.to_string().contains("no conclusion"), "{report}");
}

#[test]
fn branch_for_zero_and_for_several_changes_is_compared() {
    let Some(source) = Source::read("sqlite_branches.c", "needs_boundaries") else { return };
    for (line, output) in [("*zero = 100;", "zero"), ("*many = 200;", "many")] {
        let text = source.spoiled(line, ";");
        assert_differs(
            &source,
            &text,
            |difference| matches!(difference, Difference::Output { path, .. } if path == output),
        );
    }
}

#[test]
fn original_that_goes_on_outside_of_its_transaction_is_noted() {
    let Some(source) = Source::read("sqlite_branches.c", "ignores_failures") else { return };
    let text = swapped(
        &source.text,
        "    sqlite3_exec(db, \"UPDATE bank SET b_total = b_total + 1",
        "    sqlite3_exec(db, \"UPDATE account SET a_balance = 1 WHERE a_id = 1\", N",
        "    return sqlite3_exec(db, \"COMMIT\"",
    );
    let Some(report) = source.compared(&text) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(!report.unchecked.is_empty(), "{report}");
    assert!(report.to_string().contains("goes on outside of its transaction"), "{report}");
}
