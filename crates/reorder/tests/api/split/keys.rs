//! The loops of the trade update: each iteration reads and updates a trade of its own, if the
//! numbers of the trades differ.

use super::examples::{Example, assert_order, reasons};

fn read(api: &str, file: &str, distinct: bool) -> Option<Example> {
    let mut example = Example::read_in("tpce", api, file, "trade_update")?;
    if distinct {
        example.options.distinct.push("trade_id".to_string());
    }
    Some(example)
}

/// Asserts that the updates get a loop of their own behind all reads.
fn assert_updates_are_last(api: &str, file: &str) {
    let Some(example) = read(api, file, true) else { return };
    let rewritten = example.rewritten();
    assert_order(
        &rewritten.text,
        &["for (", "FROM trade_history", "for (", "UPDATE trade", "out->num_updated++", "COMMIT"],
    );
    let (reads, updates) = rewritten.text.split_once("UPDATE trade").unwrap();
    let all = ["JOIN trade_type", "FROM settlement", "FROM cash_transaction", "FROM trade_history"];
    assert!(all.iter().all(|one| reads.contains(one) && !updates.contains(one)), "{reads}");
}

#[test]
fn updates_of_trades_get_a_loop_behind_the_reads() {
    assert_updates_are_last("libpq", "trade_update_once.c");
}

#[test]
fn updates_by_texts_get_a_loop_behind_the_reads() {
    assert_updates_are_last("mysql", "mariadb/trade_update_once.c");
}

#[test]
fn missing_fact_is_named() {
    let Some(example) = read("libpq", "trade_update_once.c", false) else { return };
    let reasons = reasons(&example.candidates());
    let fact = "both use the table `trade`, and the elements of `trade_id` might be equal: state \
                --distinct trade_id (same table)";
    assert!(reasons.iter().any(|reason| reason.ends_with(fact)), "{reasons:#?}");
    let unstated = example.rewritten().unstated;
    assert!(unstated.iter().any(|reason| reason.ends_with(fact)), "{unstated:#?}");
}
