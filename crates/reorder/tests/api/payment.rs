//! The examples' payment transactions, from source to reordered source.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clearway_reorder::{
    api::{self, Model, Models},
    clang::FrontEnd,
    explain,
    rewrite::{Options, Rewritten, rewrite},
    schema,
};

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/tpcc").join(name)
}

/// A database interface.
struct Interface {
    api: &'static str,
    schema: &'static str,
    /// The folders in which its header may be.
    include: [&'static str; 2],
    header: &'static str,
}

const LIBPQ: Interface = Interface {
    api: "libpq",
    schema: "schema.sql",
    include: ["/usr/include/postgresql", "/usr/include"],
    header: "libpq-fe.h",
};

const MYSQL: Interface = Interface {
    api: "mysql",
    schema: "schema-mysql.sql",
    include: ["/usr/include/mariadb", "/usr/include/mysql"],
    header: "mysql.h",
};

/// Returns the reordered example, or `None` with a message if libclang or the header is missing.
fn reordered(style: &Style, text: &str) -> Option<Rewritten> {
    let interface = style.interface;
    let front_end = FrontEnd::load();
    let include = interface
        .include
        .into_iter()
        .find(|folder| Path::new(folder).join(interface.header).exists());
    let (Ok(front_end), Some(include)) = (&front_end, include) else {
        let reason = match front_end {
            Err(error) => error.to_string(),
            Ok(_) => format!("{} is missing", interface.header),
        };
        assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{reason}");
        eprintln!("SKIPPED: {reason}");
        return None;
    };
    let own = style.model.map(|file| api::load(&fs::read_to_string(example(file)).unwrap(), file));
    let own: Vec<Model> = own.into_iter().map(Result::unwrap).collect();
    let models = Models::new(&[interface.api], &own).unwrap();
    let ddl = fs::read_to_string(example(interface.schema)).unwrap();
    let schema = schema::parse(&ddl, models.server().unwrap()).unwrap();
    let folder = example("").display().to_string();
    let flags = [format!("-I{include}"), format!("-I{folder}"), format!("-I{folder}/..")];
    let program = front_end.parse(&example(style.file), Some(text), &flags).unwrap();
    let options = Options { function: Some(style.function.to_string()), ..Options::default() };
    Some(rewrite(&program, text, &models, &schema, &options).unwrap())
}

/// Words by which a test finds each query of a source, in the order in which they must stand after
/// reordering.
struct Style {
    interface: &'static Interface,
    function: &'static str,
    /// The model of the file's statements.
    model: Option<&'static str>,
    file: &'static str,
    queries: [&'static str; 5],
}

const STYLES: [Style; 5] = [
    Style {
        interface: &LIBPQ,
        function: "payment",
        model: None,
        file: "payment_params.c",
        queries: BY_TEXT,
    },
    Style {
        interface: &LIBPQ,
        function: "payment",
        model: None,
        file: "payment_text.c",
        queries: BY_TEXT,
    },
    // In InnoDB the insert into history locks the district shared, so that it stays behind it.
    Style {
        interface: &MYSQL,
        function: "payment",
        model: None,
        file: "mariadb/payment_text.c",
        queries: [
            "FROM warehouse",
            "UPDATE district",
            "INSERT INTO history",
            "UPDATE warehouse",
            "COMMIT",
        ],
    },
    Style {
        interface: &LIBPQ,
        function: "payment",
        model: None,
        file: "payment_prepared.c",
        queries: [
            "\"get_warehouse\", 1",
            "\"pay_customer\", 5",
            "\"pay_district\", 3",
            "\"pay_warehouse\", 2",
            "COMMIT",
        ],
    },
    Style {
        interface: &MYSQL,
        function: "payment_prepared",
        model: None,
        file: "mariadb/payment_prepared.c",
        queries: [
            "stmt[GET_WAREHOUSE];",
            "stmt[PAY_DISTRICT];",
            "stmt[ADD_HISTORY];",
            "stmt[PAY_WAREHOUSE];",
            "mysql_commit",
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
        let Some(rewritten) = reordered(&style, &text) else { continue };
        let place = |query: &str| {
            let found = rewritten.text.find(query);
            found.unwrap_or_else(|| panic!("{name}: `{query}` is gone\n{}", rewritten.text))
        };
        let places = style.queries.map(place);
        assert!(places.is_sorted(), "{name}: {places:?}\n{}", rewritten.text);
        let again = reordered(&style, &rewritten.text).unwrap();
        assert_eq!(again.text, rewritten.text, "{name}: the second run changes something");
    }
}

#[test]
fn explanation_of_payment_is_the_recorded_one() {
    let style = &STYLES[0];
    let text = fs::read_to_string(example(style.file)).unwrap();
    let Some(rewritten) = reordered(style, &text) else { return };
    let explained = explain::explain_all("payment_params.c", &rewritten);
    assert_eq!(explained, include_str!("../payment/params_explained.txt"), "now:\n{explained}");
}
