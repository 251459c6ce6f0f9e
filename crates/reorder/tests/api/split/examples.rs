//! The loops of the TPC-C examples.

use std::{fs, path::Path};

use clearway_reorder::{
    api::Models,
    clang::FrontEnd,
    ir::Program,
    rewrite::{Options, Rewritten},
    schema::{self, Schema},
    split::{self, Candidate},
    transform,
};

/// An example with all that is known of it.
pub(crate) struct Example {
    front_end: FrontEnd,
    file: std::path::PathBuf,
    flags: Vec<String>,
    pub(crate) text: String,
    models: Models,
    schema: Schema,
    pub(crate) options: Options,
}

impl Example {
    /// Reads an example; `None` with a message if something is missing.
    fn read(api: &str, file: &str, function: &str) -> Option<Example> {
        Self::read_in("tpcc", api, file, function)
    }

    /// Like `read`, in another folder of the examples.
    pub(crate) fn read_in(folder: &str, api: &str, file: &str, function: &str) -> Option<Example> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(folder);
        let (include, header, tables) = match api {
            "libpq" => ("/usr/include/postgresql", "libpq-fe.h", "schema.sql"),
            _ => ("/usr/include/mariadb", "mysql.h", "schema-mysql.sql"),
        };
        let front_end = match FrontEnd::load() {
            Ok(front_end) if Path::new(include).join(header).exists() => front_end,
            _ => {
                assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{header}");
                eprintln!("SKIPPED: libclang or {header} is missing");
                return None;
            }
        };
        let models = Models::new(&[api], &[]).unwrap();
        let ddl = fs::read_to_string(folder.join(tables)).unwrap();
        let schema = schema::parse(&ddl, models.server().unwrap()).unwrap();
        let folders = [include.to_string(), folder.display().to_string()];
        let mut flags: Vec<String> = folders.iter().map(|one| format!("-I{one}")).collect();
        flags.push(format!("-I{}/..", folder.display()));
        let file = folder.join(file);
        let text = fs::read_to_string(&file).unwrap();
        let function = Some(function.to_string());
        let options = Options { function, relaxed_reads: true, ..Options::default() };
        Some(Example { front_end, file, flags, text, models, schema, options })
    }

    fn parse(&self, text: &str) -> Program {
        self.front_end.parse(&self.file, Some(text), &self.flags).unwrap()
    }

    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let program = self.parse(&self.text);
        let (models, schema) = (&self.models, &self.schema);
        split::candidates(&program, &self.text, models, schema, &self.options).unwrap()
    }

    pub(crate) fn rewritten(&self) -> Rewritten {
        let program = self.parse(&self.text);
        let parse = |text: &str| Ok::<_, ()>(self.parse(text));
        let (models, schema) = (&self.models, &self.schema);
        let options = Options { no_rename: true, ..self.options.clone() };
        transform::rewrite(&parse, &program, &self.text, models, schema, &options).unwrap()
    }
}

pub(crate) fn reasons(candidates: &[Candidate]) -> Vec<String> {
    let reasons = candidates.iter().map(|one| match &one.outcome {
        Ok(_) => format!("behind {}: legal", one.split.behind),
        Err(refusal) => format!("behind {}: {refusal}", one.split.behind),
    });
    reasons.collect()
}

/// Asserts that parts of a text stand in it in this order.
pub(crate) fn assert_order(text: &str, parts: &[&str]) {
    let mut from = 0;
    for part in parts {
        let at = text[from..].find(part);
        from += at.unwrap_or_else(|| panic!("`{part}` is not behind the others:\n{text}"));
    }
}

/// The stock is locked behind the loop that reads the items, and the district behind the stock.
/// Arrays keep the values that a later loop takes from an earlier one, unless they can be computed
/// again.
#[test]
fn loop_of_new_order_is_split_before_the_order_lines() {
    let Some(example) = Example::read("libpq", "new_order_params.c", "new_order") else { return };
    let rewritten = example.rewritten();
    assert_order(
        &rewritten.text,
        &[
            "FROM warehouse",
            "char dist_info_at[15][25];",
            "for (",
            "FROM item",
            "memcpy(i_data_at[i], i_data, sizeof i_data);",
            "for (",
            "memcpy(i_data, i_data_at[i], sizeof i_data);",
            "UPDATE stock",
            "memcpy(dist_info_at[i], dist_info, sizeof dist_info);",
            "FROM district",
            "UPDATE district",
            "INSERT INTO orders",
            "INSERT INTO new_order",
            "for (",
            "memcpy(dist_info, dist_info_at[i], sizeof dist_info);",
            "snprintf(number, ",
            "snprintf(i_id, ",
            "INSERT INTO order_line",
            "\"COMMIT\"",
        ],
    );
    assert_eq!(rewritten.text.matches("snprintf(number, ").count(), 1, "{}", rewritten.text);
    assert_eq!(rewritten.text.matches("snprintf(i_id, ").count(), 3, "{}", rewritten.text);
    assert_eq!(rewritten.splits.len(), 2);
}

/// The update of the district waits for no one, since its row is locked before: it stays.
#[test]
fn loop_of_new_order_with_texts_is_split_before_the_order_lines() {
    let Some(example) = Example::read("mysql", "mariadb/new_order.c", "new_order") else { return };
    let rewritten = example.rewritten();
    assert_order(
        &rewritten.text,
        &[
            "FROM warehouse",
            "FROM customer",
            "char dist_info_at[15][25];",
            "for (",
            "FROM item",
            "for (",
            "UPDATE stock",
            "FROM district",
            "UPDATE district",
            "INSERT INTO orders",
            "for (",
            "INSERT INTO order_line",
            "INSERT INTO new_order",
            "\"COMMIT\"",
        ],
    );
    assert_eq!(rewritten.splits.len(), 2);
}

/// The customers, the most contended, are updated last, and only for districts with an order.
fn assert_customers_are_last(api: &str, file: &str) {
    let Some(example) = Example::read(api, file, "delivery") else { return };
    let rewritten = example.rewritten();
    let text = &rewritten.text;
    assert_order(
        text,
        &["= {0};", "for (", "FROM new_order", "continue;", "DELETE FROM new_order", "] = 1;"],
    );
    assert_order(
        text,
        &["sum(ol_amount)", "UPDATE orders SET", "continue;", "UPDATE customer", "\"COMMIT\""],
    );
    assert_eq!(text.matches("#include <string.h>").count(), usize::from(api == "libpq"), "{text}");
}

#[test]
fn loop_of_delivery_is_split_behind_a_continue() {
    assert_customers_are_last("libpq", "delivery.c");
}

#[test]
fn loop_of_delivery_with_texts_is_split_behind_a_continue() {
    assert_customers_are_last("mysql", "mariadb/delivery.c");
}

/// The rest of an iteration reads the trade that it has updated, and runs only if that is found.
#[test]
fn updates_of_the_specification_keep_their_place() {
    let example = Example::read_in("tpce", "libpq", "trade_update.c", "trade_update");
    let Some(mut example) = example else { return };
    example.options.distinct.push("trade_id".to_string());
    println!("{:#?}", reasons(&example.candidates()));
    let rewritten = example.rewritten();
    assert_eq!((rewritten.text, rewritten.splits), (example.text, Vec::new()));
}
