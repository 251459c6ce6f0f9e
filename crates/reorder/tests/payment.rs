//! The examples' payment transactions, from source to reordered source.

use std::{fs, path::PathBuf};

use clearway_reorder::{
    api::Models,
    clang::FrontEnd,
    rewrite::{Options, Rewritten, rewrite},
    schema,
};

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/tpcc").join(name)
}

/// Returns the reordered example, or `None` with a message if libclang or libpq is missing.
fn reordered(name: &str, text: &str) -> Option<Rewritten> {
    let header = "/usr/include/postgresql/libpq-fe.h";
    let front_end = FrontEnd::load();
    let missing = front_end
        .as_ref()
        .err()
        .map(ToString::to_string)
        .or_else(|| (!PathBuf::from(header).exists()).then(|| format!("{header} is missing")));
    if let Some(reason) = missing {
        assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{reason}");
        eprintln!("SKIPPED: {reason}");
        return None;
    }
    let models = Models::new(&["libpq"], &[]).unwrap();
    let ddl = fs::read_to_string(example("schema.sql")).unwrap();
    let schema = schema::parse(&ddl, models.server().unwrap()).unwrap();
    let folder = example("").display().to_string();
    let flags =
        ["-I/usr/include/postgresql".to_string(), format!("-I{folder}"), format!("-I{folder}/..")];
    let program = front_end.unwrap().parse(&example(name), Some(text), &flags).unwrap();
    let options = Options { function: Some("payment".to_string()), ..Options::default() };
    Some(rewrite(&program, text, &models, &schema, &options).unwrap())
}

/// Words by which a test finds each query of a source, in the order in which they must stand after
/// reordering.
struct Style {
    file: &'static str,
    queries: [&'static str; 5],
}

const STYLES: [Style; 3] = [
    Style { file: "payment_params.c", queries: BY_TEXT },
    Style { file: "payment_text.c", queries: BY_TEXT },
    Style {
        file: "payment_prepared.c",
        queries: [
            "\"get_warehouse\", 1",
            "\"pay_customer\", 5",
            "\"pay_district\", 3",
            "\"pay_warehouse\", 2",
            "COMMIT",
        ],
    },
];

const BY_TEXT: [&str; 5] =
    ["FROM warehouse", "UPDATE customer", "UPDATE district", "UPDATE warehouse", "COMMIT"];

#[test]
fn payment_locks_the_warehouse_last() {
    for style in STYLES {
        let name = style.file;
        let text = fs::read_to_string(example(name)).unwrap();
        let Some(rewritten) = reordered(name, &text) else { return };
        let place = |query: &str| {
            let found = rewritten.text.find(query);
            found.unwrap_or_else(|| panic!("{name}: `{query}` is gone\n{}", rewritten.text))
        };
        let places = style.queries.map(place);
        assert!(places.is_sorted(), "{name}: {places:?}\n{}", rewritten.text);
        let again = reordered(name, &rewritten.text).unwrap();
        assert_eq!(again.text, rewritten.text, "{name}: the second run changes something");
    }
}
