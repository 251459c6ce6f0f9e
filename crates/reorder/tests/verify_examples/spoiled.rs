//! Texts that differ from the examples in a way that the comparison must show.

use clearway_reorder::verify::{Difference, Verdict};

use crate::{example::Example, styles};

/// Reads an example by its file; `None` with a message if something is missing.
fn read(file: &str) -> Option<Example> {
    let style = styles::ALL.iter().find(|style| style.file == file);
    Example::read(style.unwrap_or_else(|| panic!("{file}")))
}

#[test]
fn changed_update_of_an_item_is_found() {
    let Some(example) = read("bidding/bid.c") else { return };
    let text = example.text.replace("i_raises + 1", "i_raises + 2");
    let Some(report) = example.compared(&text, |_| {}) else { return };
    assert_eq!(report.verdict(), Verdict::Different, "{report}");
}

#[test]
fn originals_are_equal_to_themselves() {
    for name in ["tpcc/payment_text.c", "tpcc/payment_prepared.c", "tpcc/new_order_params.c"] {
        let Some(example) = read(name) else { return };
        let compared = example.compared(&example.text, |options| options.seeds = 2);
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
    let Some(example) = read("tpcc/new_order_params.c") else { return };
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
    let Some(report) = example.compared(&text, |_| {}) else { return };
    let mut found = report.divergences.iter().flat_map(|divergence| &divergence.differences);
    let is_swap = |difference: &Difference| {
        matches!(difference, Difference::Order { first, second }
            if first.starts_with("SELECT d_tax") && second.starts_with("UPDATE district"))
    };
    assert!(found.any(is_swap), "{report}");
}

#[test]
fn child_before_its_parent_is_found() {
    let Some(example) = read("tpcc/new_order_params.c") else { return };
    // `new_order` refers to `orders`.
    let insert = "    res = PQexecParams(conn,\n                       \"INSERT INTO new_order";
    let text = swapped(
        &example.text,
        "    res = PQexecParams(conn,\n                       \"INSERT INTO orders",
        insert,
        "    out->total = 0;",
    );
    let Some(report) = example.compared(&text, |_| {}) else { return };
    let mut found = report.divergences.iter().flat_map(|divergence| &divergence.differences);
    let is_swap = |difference: &Difference| {
        matches!(difference, Difference::Order { first, second }
            if first.starts_with("INSERT INTO orders")
                && second.starts_with("INSERT INTO new_order"))
    };
    assert!(found.any(is_swap), "{report}");
}
