//! The examples' transactions in each style, reordered, compiled by gcc and clang without warnings,
//! and compared with their originals on the mocks of libpq and of MariaDB's interface.
//!
//! The tests need libclang, gcc, `libpq-fe.h` and `mysql.h`. Without them they say SKIPPED; if
//! `CLEARWAY_REQUIRE_LIBCLANG`, `CLEARWAY_REQUIRE_LIBPQ` or `CLEARWAY_REQUIRE_MYSQL` is set, they
//! fail. Without clang they say SKIPPED and use gcc alone.
//!
//! With all options, with more inputs and with sanitizers it takes minutes:
//! `cargo test -p clearway-reorder --test verify_examples -- --ignored`. `STYLE` selects files.

mod compile;
mod example;
mod spoiled;
mod styles;

use std::{collections::BTreeSet, fs, path::Path};

use clearway_reorder::verify::{self, Verdict};

use self::{
    example::{Example, examples},
    styles::Style,
};

/// Asserts that texts that the tool has made of a transaction compile without warnings and do what
/// the source does. `change` sets the effort. If nothing has changed, the source is compared with
/// itself on one seed: the mock knows all that it calls.
fn check(example: &Example, texts: &[String], change: impl Fn(&mut verify::Options<'_>)) {
    let changed: BTreeSet<&String> = texts.iter().filter(|text| **text != example.text).collect();
    for text in &changed {
        compile::assert_no_complaint(example, text);
        assert_equal(example, text, &change);
    }
    if changed.is_empty() {
        assert_equal(example, &example.text, |options| options.seeds = 1);
    }
}

/// Asserts that the comparison of an example with another text of it finds no difference, and
/// leaves out no query.
fn assert_equal(example: &Example, text: &str, change: impl FnOnce(&mut verify::Options<'_>)) {
    let Some(report) = example.compared(text, change) else { return };
    let name = example.style.file;
    assert_eq!(report.verdict(), Verdict::Equal, "{name}: {report}");
    assert!(report.committed > 0 && report.rolled_back > 0, "{name}: {report}");
}

/// The folders with transactions; each has a test.
const FOLDERS: [&str; 6] =
    ["tpcc", "tpcc/mariadb", "tpce", "tpce/mariadb", "bidding", "bidding/mariadb"];

fn is_in(style: &Style, folder: &str) -> bool {
    Path::new(style.file).parent() == Some(Path::new(folder))
}

/// Checks the styles whose source stands in a folder of the examples.
fn check_folder(folder: &str) {
    assert!(FOLDERS.contains(&folder));
    for style in styles::ALL.iter().filter(|style| is_in(style, folder)) {
        let Some(example) = Example::read(style) else { return };
        let full = example.rewritten(&style.full());
        style.assert_order(&example.text, &full);
        check(&example, &[full, example.rewritten(&style.order_only())], |_| {});
    }
}

#[test]
fn tpcc_over_libpq_is_equal() {
    check_folder("tpcc");
}

#[test]
fn tpcc_over_mariadb_is_equal() {
    check_folder("tpcc/mariadb");
}

#[test]
fn tpce_over_libpq_is_equal() {
    check_folder("tpce");
}

#[test]
fn tpce_over_mariadb_is_equal() {
    check_folder("tpce/mariadb");
}

#[test]
fn bids_over_libpq_are_equal() {
    check_folder("bidding");
}

#[test]
fn bids_over_mariadb_are_equal() {
    check_folder("bidding/mariadb");
}

#[test]
#[ignore = "takes minutes"]
fn each_style_is_equal_with_all_options() {
    let selected = std::env::var("STYLE").unwrap_or_default();
    for style in styles::ALL.iter().filter(|style| style.file.contains(&selected)) {
        let Some(example) = Example::read(style) else { return };
        let options = style.all_options();
        let texts: Vec<String> = options.iter().map(|one| example.rewritten(one)).collect();
        check(&example, &texts, |options| {
            options.seeds = 12;
            options.sanitize = true;
        });
    }
}

/// Returns the sources in a folder of the examples and in those below it.
fn sources(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "c" || extension == "cpp") {
            let file = path.strip_prefix(examples()).unwrap();
            found.push(file.to_str().unwrap().to_owned());
        }
    }
    found
}

#[test]
fn each_source_of_the_examples_is_listed() {
    let transactions = styles::ALL.iter().map(|style| style.file);
    let listed: BTreeSet<&str> = transactions.chain(styles::OTHERS.iter().copied()).collect();
    let found = sources(&examples());
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, listed);
}

#[test]
fn each_listed_style_is_in_a_folder_that_is_checked() {
    for style in styles::ALL {
        assert!(FOLDERS.iter().any(|folder| is_in(style, folder)), "{}", style.file);
    }
}
