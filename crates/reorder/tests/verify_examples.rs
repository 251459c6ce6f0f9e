//! The examples' transactions, reordered and compared with their originals on the mocks of libpq
//! and of MariaDB's interface.
//!
//! The tests need libclang, gcc, `libpq-fe.h` and `mysql.h`. Without them they say SKIPPED; if
//! `CLEARWAY_REQUIRE_LIBCLANG`, `CLEARWAY_REQUIRE_LIBPQ` or `CLEARWAY_REQUIRE_MYSQL` is set, they
//! fail.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clearway_reorder::{
    api::Models,
    clang::FrontEnd,
    ir::Program,
    rewrite::{self, Refused, rewrite},
    schema::{self, Schema},
    transaction, transform,
    verify::{
        self, Difference, Input, Interface, Knowledge, LIBPQ, MYSQL, Report, Verdict, VerifyError,
        verify,
    },
};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Notes why a test is skipped; fails if the variable says that it must not be.
fn skip(variable: &str, reason: &str) {
    assert!(std::env::var_os(variable).is_none(), "{reason}");
    eprintln!("SKIPPED: {reason}");
}

/// An example with all that is known of it.
struct Example {
    interface: &'static Interface,
    path: PathBuf,
    text: String,
    program: Program,
    models: Models,
    schema: Schema,
}

impl Example {
    /// Reads an example, a path in the folder of all; `None` with a message if libclang or libpq
    /// is missing.
    fn read(name: &str) -> Option<Example> {
        let mariadb = name.contains("mariadb/");
        Self::read_with(name, if mariadb { "../schema-mysql.sql" } else { "schema.sql" })
    }

    /// Like `read`, with another file of the same folder for the tables.
    fn read_with(name: &str, tables: &str) -> Option<Example> {
        let interface = if name.contains("mariadb/") { &MYSQL } else { &LIBPQ };
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
        let path = examples().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let models = Models::new(&[interface.name], &[]).unwrap();
        let ddl = fs::read_to_string(path.parent().unwrap().join(tables)).unwrap();
        let schema = schema::parse(&ddl, models.server().unwrap()).unwrap();
        let program = front_end.parse(&path, Some(&text), &flags(interface)).unwrap();
        Some(Example { interface, path, text, program, models, schema })
    }

    fn rewritten(&self) -> Result<String, Refused> {
        self.rewritten_with(&rewrite::Options::default())
    }

    /// Returns the text that all of the tool makes of it: loops split and variables renamed.
    fn transformed(&self, options: &rewrite::Options) -> String {
        let front_end = FrontEnd::load().unwrap();
        let flags = flags(self.interface);
        let mut parse = |text: &str| front_end.parse(&self.path, Some(text), &flags);
        let (program, models, schema) = (&self.program, &self.models, &self.schema);
        transform::rewrite(&mut parse, program, &self.text, models, schema, options).unwrap().text
    }

    fn rewritten_with(&self, options: &rewrite::Options) -> Result<String, Refused> {
        let (program, models, schema) = (&self.program, &self.models, &self.schema);
        Ok(rewrite(program, &self.text, models, schema, options)?.text)
    }

    /// Compares the example with another text of it; `None` with a message if there is no compiler.
    fn compared(
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
        change(&mut options);
        let functions =
            transaction::functions(&self.program, &self.models, None, &self.text).unwrap();
        let [(function, true)] = &functions[..] else { panic!("{functions:?}") };
        options.sites = verify::sites(&self.program, &self.models, &self.text, function);
        match verify(&self.path, &rewritten, &self.program, function, &options) {
            Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
                skip(required(self.interface), &error.to_string());
                None
            }
            other => Some(other.unwrap()),
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

/// Reorders an example and asserts that the comparison finds no difference.
fn assert_equal(name: &str, change: impl FnOnce(&mut verify::Options<'_>)) {
    let Some(example) = Example::read(name) else { return };
    let text = match example.rewritten() {
        Ok(text) => text,
        Err(refused) => panic!("{name}: {refused}"),
    };
    assert_text_is_equal(name, &example, &text, change);
}

/// Asserts that the comparison of an example with another text of it finds no difference.
fn assert_text_is_equal(
    name: &str,
    example: &Example,
    text: &str,
    change: impl FnOnce(&mut verify::Options<'_>),
) {
    let Some(report) = example.compared(text, change) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{name}: {report}");
    assert!(report.committed > 0 && report.rolled_back > 0, "{name}: {report}");
}

/// Asserts that parts of a text stand in it in this order.
fn assert_order(text: &str, parts: &[&str]) {
    let places: Vec<_> = parts.iter().map(|part| text.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{parts:?}: {text}");
}

fn range(least: i64, greatest: i64) -> Input {
    Input { range: Some((least, greatest)), ..Input::default() }
}

/// Returns options with which reads change places, and the arrays of some names have elements that
/// differ.
fn relaxed(distinct: &[&str]) -> rewrite::Options {
    let distinct = distinct.iter().map(|&name| name.to_owned()).collect();
    rewrite::Options { relaxed_reads: true, distinct, ..rewrite::Options::default() }
}

/// Asserts that the comparison of an example with the text that all of the tool makes of it finds
/// no difference, and that parts of the new text stand in an order.
fn assert_transformed_is_equal(
    (name, tables): (&str, &str),
    parts: &[&str],
    change: impl FnOnce(&mut verify::Options<'_>),
) {
    let Some(example) = Example::read_with(name, tables) else { return };
    let text = example.transformed(&relaxed(&[]));
    assert_ne!(text, example.text, "{name}");
    assert_order(&text, parts);
    assert_text_is_equal(name, &example, &text, change);
}

#[test]
fn payment_with_parameters_is_equal() {
    assert_equal("tpcc/payment_params.c", |_| {});
}

#[test]
fn payment_with_texts_is_equal() {
    assert_equal("tpcc/payment_text.c", |_| {});
}

#[test]
fn payment_with_prepared_statements_is_equal() {
    assert_equal("tpcc/payment_prepared.c", |options| {
        options.setup.push("payment_prepare".to_owned());
    });
}

#[test]
fn new_order_is_equal() {
    assert_equal("tpcc/new_order_params.c", |options| {
        options.inputs.insert("in.ol_cnt".to_owned(), range(1, 3));
    });
}

/// The loop is split and the parameters renamed: the district is updated last.
#[test]
fn new_order_with_a_split_loop_is_equal() {
    let name = "tpcc/new_order_params.c";
    let Some(example) = Example::read(name) else { return };
    let split = example.transformed(&relaxed(&[]));
    let parts = ["dist_info_at[15][25];", "UPDATE stock", "INTO order_line", "UPDATE district"];
    assert_order(&split, &parts);
    assert_text_is_equal(name, &example, &split, |options| {
        options.inputs.insert("in.ol_cnt".to_owned(), range(1, 3));
    });
}

#[test]
fn order_status_is_equal() {
    assert_equal("tpcc/order_status.c", |_| {});
}

#[test]
fn delivery_is_equal() {
    assert_equal("tpcc/delivery.c", |_| {});
}

/// The loop is split: the later parts skip districts without an order.
fn assert_split_delivery_is_equal(name: &str) {
    let Some(example) = Example::read(name) else { return };
    let split = example.transformed(&relaxed(&[]));
    assert_order(&split, &["continue;", "] = 1;", "if (!reached_at", "UPDATE customer"]);
    assert_text_is_equal(name, &example, &split, |_| {});
}

#[test]
fn delivery_with_split_loops_is_equal() {
    assert_split_delivery_is_equal("tpcc/delivery.c");
}

#[test]
fn delivery_on_mariadb_with_split_loops_is_equal() {
    assert_split_delivery_is_equal("tpcc/mariadb/delivery.c");
}

#[test]
fn stock_level_is_equal() {
    assert_equal("tpcc/stock_level.c", |_| {});
}

#[test]
fn trade_order_is_equal() {
    // With few seeds, no order meets all of its conditions.
    assert_equal("tpce/trade_order.c", |options| options.seeds = 12);
}

#[test]
fn trade_result_is_equal() {
    assert_equal("tpce/trade_result.c", |_| {});
}

/// Limits the loops of a trade update.
fn few_trades(options: &mut verify::Options<'_>) {
    options.inputs.insert("in.max_trades".to_owned(), range(0, 3));
    options.inputs.insert("in.max_updates".to_owned(), range(0, 3));
}

#[test]
fn trade_update_in_the_order_of_the_specification_is_equal() {
    assert_equal("tpce/trade_update.c", few_trades);
}

#[test]
fn trade_update_that_reads_a_trade_once_is_equal() {
    assert_equal("tpce/trade_update_once.c", few_trades);
}

/// The loop is split: the trades are updated behind all reads. Numbers out of many differ.
#[test]
fn trade_updates_with_a_split_loop_are_equal() {
    for name in ["tpce/trade_update_once.c", "tpce/mariadb/trade_update_once.c"] {
        let Some(example) = Example::read(name) else { return };
        let split = example.transformed(&relaxed(&["trade_id"]));
        assert_order(&split, &["FROM settlement", "FROM trade_history", "UPDATE trade"]);
        assert_text_is_equal(name, &example, &split, |options| {
            few_trades(options);
            options.inputs.insert("in.trade_id".to_owned(), range(1, 1_000_000_000));
        });
    }
}

#[test]
fn trade_update_of_an_account_is_equal() {
    assert_equal("tpce/trade_update_account.c", few_trades);
}

#[test]
fn trade_status_is_equal() {
    assert_equal("tpce/trade_status.c", |_| {});
}

/// Bids below and above the highest bid. With few seeds, each user is blocked or each auction is
/// closed.
fn bids(options: &mut verify::Options<'_>) {
    options.inputs.insert("in.amount".to_owned(), range(0, 40));
    options.seeds = 12;
}

#[test]
fn bid_is_equal() {
    assert_equal("bidding/bid.c", bids);
}

#[test]
fn payment_with_texts_on_mariadb_is_equal() {
    assert_equal("tpcc/mariadb/payment_text.c", |_| {});
}

#[test]
fn payment_with_prepared_statements_on_mariadb_is_equal() {
    assert_equal("tpcc/mariadb/payment_prepared.c", |options| {
        options.setup.push("payment_prepare".to_owned());
    });
}

/// The warehouse is updated last, though the code behind an exit prints the error of the
/// connection.
#[test]
fn reordered_payment_with_prepared_statements_on_mariadb_is_equal() {
    let example = ("tpcc/mariadb/payment_prepared.c", "../schema-mysql.sql");
    let parts = ["[GET_WAREHOUSE];", "[ADD_HISTORY];", "[PAY_WAREHOUSE];", "mysql_commit"];
    assert_transformed_is_equal(example, &parts, |options| {
        options.setup.push("payment_prepare".to_owned());
    });
}

#[test]
fn payment_in_the_worst_order_on_mariadb_is_equal() {
    let example = ("tpcc/mariadb/payment_worst.c", "../schema-mysql.sql");
    assert_transformed_is_equal(example, &["FROM warehouse", "UPDATE warehouse"], |_| {});
}

#[test]
fn new_order_on_mariadb_is_equal() {
    assert_equal("tpcc/mariadb/new_order.c", |options| {
        options.inputs.insert("in.ol_cnt".to_owned(), range(1, 3));
    });
}

#[test]
fn order_status_on_mariadb_is_equal() {
    assert_equal("tpcc/mariadb/order_status.c", |_| {});
}

#[test]
fn delivery_on_mariadb_is_equal() {
    assert_equal("tpcc/mariadb/delivery.c", |_| {});
}

#[test]
fn stock_level_on_mariadb_is_equal() {
    assert_equal("tpcc/mariadb/stock_level.c", |_| {});
}

#[test]
fn trade_order_on_mariadb_is_equal() {
    assert_equal("tpce/mariadb/trade_order.c", |options| options.seeds = 12);
}

#[test]
fn trade_result_on_mariadb_is_equal() {
    assert_equal("tpce/mariadb/trade_result.c", |_| {});
}

#[test]
fn trade_update_on_mariadb_in_the_order_of_the_specification_is_equal() {
    assert_equal("tpce/mariadb/trade_update.c", few_trades);
}

#[test]
fn trade_update_on_mariadb_that_reads_a_trade_once_is_equal() {
    assert_equal("tpce/mariadb/trade_update_once.c", few_trades);
}

#[test]
fn trade_update_of_an_account_on_mariadb_is_equal() {
    assert_equal("tpce/mariadb/trade_update_account.c", few_trades);
}

#[test]
fn trade_status_on_mariadb_is_equal() {
    assert_equal("tpce/mariadb/trade_status.c", |_| {});
}

#[test]
fn bid_on_mariadb_is_equal() {
    assert_equal("bidding/mariadb/bid.c", bids);
}

/// The item is updated last; its price may have changed since it was read.
#[test]
fn guarded_bid_on_mariadb_is_equal() {
    let example = ("bidding/mariadb/bid_guarded.c", "../schema-mysql-plain.sql");
    assert_transformed_is_equal(example, &["FROM bidder", "UPDATE item"], bids);
}

#[test]
fn trade_result_pays_the_broker_last() {
    let Some(example) = Example::read("tpce/trade_result.c") else { return };
    let text = example.rewritten().unwrap();
    assert_order(
        &text,
        &["INSERT INTO settlement", "UPDATE customer_account", "UPDATE broker", "\"COMMIT\""],
    );
}

/// Without foreign keys, a bid does not lock its item before the item's price is read.
#[test]
fn bid_locks_its_item_late_without_foreign_keys() {
    let name = "bidding/bid.c";
    let Some(example) = Example::read_with(name, "schema-plain.sql") else { return };
    let options = rewrite::Options { relaxed_reads: true, ..rewrite::Options::default() };
    let text = example.rewritten_with(&options).unwrap();
    assert_order(&text, &["FROM bidder", "INSERT INTO bid ", "FROM item", "UPDATE item"]);
    assert_text_is_equal(name, &example, &text, bids);
}

#[test]
fn changed_update_of_an_item_is_found() {
    let Some(example) = Example::read("bidding/bid.c") else { return };
    let text = example.text.replace("i_raises + 1", "i_raises + 2");
    let Some(report) = example.compared(&text, bids) else { return };
    assert_eq!(report.verdict(), Verdict::Different, "{report}");
}

#[test]
fn originals_are_equal_to_themselves() {
    for name in ["tpcc/payment_text.c", "tpcc/payment_prepared.c", "tpcc/new_order_params.c"] {
        let Some(example) = Example::read(name) else { return };
        let compared = example.compared(&example.text, |options| {
            options.seeds = 2;
            options.inputs.insert("in.ol_cnt".to_owned(), range(1, 3));
            if name == "tpcc/payment_prepared.c" {
                options.setup.push("payment_prepare".to_owned());
            }
        });
        let Some(report) = compared else { return };
        assert_eq!(report.verdict(), Verdict::Equal, "{name}: {report}");
        assert!(report.skipped.is_empty(), "{name}: {report}");
    }
}

/// Returns the text with two parts that follow each other in the other order: from `first` to
/// `second`, and from there to `end`.
fn swapped(text: &str, first: &str, second: &str, end: &str) -> String {
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words}"));
    let (first, second, end) = (at(first), at(second), at(end));
    [&text[..first], &text[second..end], &text[first..second], &text[end..]].concat()
}

#[test]
fn swapped_queries_of_one_row_are_found() {
    let Some(example) = Example::read("tpcc/new_order_params.c") else { return };
    // The order's number is taken after it was counted up.
    let text = swapped(
        &example.text,
        "    params[0] = w_id;\n    params[1] = d_id;\n    res = PQexecParams(conn,\n\
        \x20                      \"SELECT d_tax",
        "    res = PQexecParams(conn,\n                       \"UPDATE district",
        "    params[2] = c_id;",
    );
    let text = text.replace(
        "    res = PQexecParams(conn,\n                       \"UPDATE district",
        "    params[0] = w_id;\n    params[1] = d_id;\n    res = PQexecParams(conn,\n\
        \x20                      \"UPDATE district",
    );
    let compared = example.compared(&text, |options| {
        options.inputs.insert("in.ol_cnt".to_owned(), range(1, 2));
    });
    let Some(report) = compared else { return };
    let mut found = report.divergences.iter().flat_map(|divergence| &divergence.differences);
    let is_swap = |difference: &Difference| {
        matches!(difference, Difference::Order { first, second }
            if first.starts_with("SELECT d_tax") && second.starts_with("UPDATE district"))
    };
    assert!(found.any(is_swap), "{report}");
}

#[test]
fn child_before_its_parent_is_found() {
    let Some(example) = Example::read("tpcc/new_order_params.c") else { return };
    // `new_order` refers to `orders`.
    let insert = "    res = PQexecParams(conn,\n                       \"INSERT INTO new_order";
    let text = swapped(
        &example.text,
        "    res = PQexecParams(conn,\n                       \"INSERT INTO orders",
        insert,
        "    out->total = 0;",
    );
    let compared = example.compared(&text, |options| {
        options.inputs.insert("in.ol_cnt".to_owned(), range(1, 2));
    });
    let Some(report) = compared else { return };
    let mut found = report.divergences.iter().flat_map(|divergence| &divergence.differences);
    let is_swap = |difference: &Difference| {
        matches!(difference, Difference::Order { first, second }
            if first.starts_with("INSERT INTO orders")
                && second.starts_with("INSERT INTO new_order"))
    };
    assert!(found.any(is_swap), "{report}");
}
