//! The report on a wrong outcome.

use super::{
    explore::Outcome,
    machine::Step,
    pair::{Pair, Wrong},
    source,
    tool::{self, Tool},
    transaction::{TABLES, Transaction},
};

/// Returns the report on a pair.
pub(crate) fn report(tool: &Tool, pair: &Pair, wrong: &Wrong) -> String {
    let server = tool::server(tool.level);
    let mut text = format!("seed {}, {:?}", pair.seed, tool.level);
    text += if wrong.chosen { "\n" } else { ", in an order for other costs\n" };
    let both = pair.transactions();
    let orders = &wrong.orders;
    for at in 0..if pair.second.is_some() { 2 } else { 1 } {
        let rewritten = both[at].reordered(&orders[at]);
        text += &format!("\noriginal:\n{}", source::function(both[at], server));
        text += &format!("rewritten:\n{}", source::function(&rewritten, server));
    }
    let rows = Outcome { rows: pair.rows.clone(), returned: [None, None] };
    let [n, m] = wrong.parameters;
    text += &format!("\nrows at the begin: {}\nn = {n} in A, n = {m} in B\n", tables(&rows));
    let both = [0, 1].map(|at| both[at].reordered(&orders[at]));
    text += &interleaving(&both, wrong);
    text += &format!("outcome of the rewritten pair: {}\n", outcome(&wrong.outcome));
    for one in &wrong.original {
        text += &format!("outcome of the original pair:  {}\n", outcome(one));
    }
    text
}

/// Returns the steps of the wrong run.
fn interleaving(transactions: &[Transaction; 2], wrong: &Wrong) -> String {
    let mut text = String::new();
    let mut at = [0; 2];
    for &(me, step) in &wrong.trail {
        let statement = transactions[me].statements.get(at[me]);
        let server = clearway_reorder::api::Server::Postgresql;
        let line = statement.map(|one| source::statement(&transactions[me].name, one, server));
        let line = line.unwrap_or("commit".to_string()).replace("goto fail;", "");
        let words: Vec<&str> = line.split_whitespace().collect();
        text += &format!("  {} {}", ["A", "B"][me], words.join(" "));
        text += if step == Step::Waits { " -- waits\n" } else { "\n" };
        at[me] += usize::from(step != Step::Waits);
    }
    text
}

fn tables(outcome: &Outcome) -> String {
    let row = |(table, values): &(usize, [i64; 3])| format!("{} {values:?}", TABLES[*table].name);
    outcome.rows.iter().map(row).collect::<Vec<String>>().join(", ")
}

fn outcome(outcome: &Outcome) -> String {
    let returned = |at: usize| match &outcome.returned[at] {
        None => "rolled back".to_string(),
        Some(values) => format!("returned {values:?}"),
    };
    format!("{}; A {}, B {}", tables(outcome), returned(0), returned(1))
}
