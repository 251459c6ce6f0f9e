//! A long file: the transactions of TPC-C over libpq, again and again. What is read to rewrite it
//! is counted, since it was most of the time once. The counts are those of the process, so these
//! tests are a program of their own.
//!
//! `LONG_FILE=FILE.c cargo test -p clearway-reorder --test long_file` writes such a file of 5,000
//! lines, for measurements. Without libclang or libpq the tests print SKIPPED and pass, unless
//! `CLEARWAY_REQUIRE_LIBCLANG` is set.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use clearway_reorder::{api::Models, clang::FrontEnd, rewrite::Options, schema, transform};

const LIBPQ: &str = "/usr/include/postgresql";

/// The transactions, by their functions and their files. One of them is split.
const TRANSACTIONS: [(&str, &str); 5] = [
    ("payment", "payment_params.c"),
    ("new_order", "new_order_params.c"),
    ("order_status", "order_status.c"),
    ("delivery", "delivery.c"),
    ("stock_level", "stock_level.c"),
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

/// Returns a file with `count` functions, which have different names.
fn long_file(count: usize) -> String {
    let (mut includes, mut bodies) = (Vec::new(), Vec::new());
    for (function, file) in TRANSACTIONS {
        let text = fs::read_to_string(examples().join("tpcc").join(file)).unwrap();
        let of_file = text.lines().filter(|line| line.starts_with("#include")).map(str::to_owned);
        includes.extend(of_file);
        let start = text.find(&format!("\nint {function}(")).unwrap();
        bodies.push((function, text[start..].to_owned()));
    }
    includes.sort_by_key(|line| line.contains('"'));
    let mut text = String::new();
    for (place, line) in includes.iter().enumerate() {
        if !includes[..place].contains(line) {
            text.push_str(line);
            text.push('\n');
        }
    }
    for (place, (function, body)) in bodies.iter().cycle().take(count).enumerate() {
        let name = format!("\nint {function}_{place}(");
        text.push_str(&body.replacen(&format!("\nint {function}("), &name, 1));
    }
    text
}

/// The numbers of texts and of headers that were read to rewrite a file.
#[derive(Debug)]
struct Reads {
    texts: usize,
    headers: usize,
}

/// Rewrites a file with `count` functions.
fn rewrite(front_end: &FrontEnd, count: usize) -> Reads {
    let models = Models::new(&["libpq"], &[]).unwrap();
    let tables = fs::read_to_string(examples().join("tpcc/schema.sql")).unwrap();
    let schema = schema::parse(&tables, models.server().unwrap()).unwrap();
    let folders = [LIBPQ.into(), examples(), examples().join("tpcc")];
    let flags = folders.map(|folder| format!("-I{}", folder.display()));
    let file = PathBuf::from(format!("long_{count}.c"));
    let text = long_file(count);
    let (before, texts) = (front_end.header_reads(), AtomicUsize::new(0));
    let parse = |text: &str| {
        texts.fetch_add(1, Ordering::Relaxed);
        front_end.parse(&file, Some(text), &flags)
    };
    let program = parse(&text).unwrap();
    let options = Options::default();
    let rewritten =
        transform::rewrite(&parse, &program, &text, &models, &schema, &options).unwrap();
    let split = |name: &str| rewritten.splits.iter().any(|one| one.function == name);
    for place in 0..count {
        let (function, _) = TRANSACTIONS[place % TRANSACTIONS.len()];
        let is_split = function == "delivery";
        assert_eq!(split(&format!("{function}_{place}")), is_split, "{function}_{place}");
    }
    Reads { texts: texts.into_inner(), headers: front_end.header_reads() - before }
}

#[test]
fn headers_of_a_long_file_are_read_three_times() {
    let front_end = match FrontEnd::load() {
        Ok(front_end) if Path::new(LIBPQ).join("libpq-fe.h").exists() => front_end,
        _ => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none());
            eprintln!("SKIPPED: libclang or libpq is missing");
            return;
        }
    };
    if let Some(path) = std::env::var_os("LONG_FILE") {
        fs::write(path, long_file(38)).unwrap();
    }
    let reads = [5, 10, 15].map(|count| rewrite(&front_end, count));
    eprintln!("{reads:?}");
    // With the file, with its expanded text, and when they are precompiled.
    if cfg!(target_os = "linux") {
        assert!(reads.iter().all(|one| one.headers == 3), "{reads:?}");
    }
    // Each split is tried once, in a text of its own; all other texts are those of the whole file.
    let tried = reads[1].texts - reads[0].texts;
    assert_eq!(reads[2].texts - reads[1].texts, tried, "{reads:?}");
}
