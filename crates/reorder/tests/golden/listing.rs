//! Listing 1 of the paper, with the contention indices of its Table 1: the solver and the edits
//! give Listing 2, which is the only best order.

use std::fs;

use clearway_reorder::{
    flow::{Flow, summary::Summaries},
    legality::{self, Context, Isolation},
    restructure,
    solve::{Limits, Problem, UnitCost, check},
    source, transaction,
    units::{Unit, Units},
};

use crate::{Parsed, case, parsed};

/// Table 1: a part of each query, and the contention index of the query. Lines 6, 8, 10 and 13 are
/// of the customer; the statement of lines 9–14 is one unit with two queries, of which one runs.
const TABLE_1: [(&str, u64); 8] = [
    ("SELECT w_name FROM warehouse", 500),
    ("UPDATE warehouse", 510),
    ("SELECT d_name FROM district", 100),
    ("UPDATE district", 110),
    ("SELECT c_id FROM customer", 50),
    ("SELECT c_name FROM customer", 50),
    ("UPDATE customer", 60),
    ("INSERT INTO history", 10),
];

fn listing_1() -> Option<&'static Parsed> {
    let found = parsed().iter().find(|one| one.case.name == "listing/1_payment.c");
    assert!(found.is_some() || parsed().is_empty(), "listing/1_payment.c is gone");
    found
}

/// Returns the cost of a unit in the paper's objective: the index of its query, and one position.
fn position(unit: &Unit<'_>) -> UnitCost {
    let index = |text: &String| TABLE_1.iter().find(|(part, _)| text.contains(part));
    let found =
        unit.queries().map(|query| index(&query.text).unwrap_or_else(|| panic!("{query:?}")));
    found.max().map_or(UnitCost::default(), |&(_, weight)| UnitCost { weight, length: 1 })
}

/// Listing 1 as a problem, with the best order and the source in that order.
struct Ordered {
    problem: Problem,
    order: Vec<usize>,
    text: String,
}

fn ordered() -> Option<Ordered> {
    let Parsed { case, program } = listing_1()?;
    let summaries = Summaries::of_program(program, &case.models);
    let found = transaction::find(program, &case.models, &summaries, None, &case.text).unwrap();
    let flow = Flow::of(program, &case.models, &summaries, found[0].function);
    let units = Units::of(&flow, &found[0], &case.schema, &case.text, &program.directives);
    let context = Context {
        program,
        text: &case.text,
        flow: &flow,
        units: &units,
        schema: &case.schema,
        server: case.models.server().unwrap(),
        isolation: Isolation::Serializable,
        relaxed_reads: false,
    };
    let constraints = legality::constraints(&context, &[]);
    let mut problem: Problem = legality::problem(units.units.len(), &constraints);
    problem.units = units.units.iter().map(position).collect();
    let order = problem.solve(Limits::default()).unwrap().order;
    let text = source::apply(
        &case.text,
        &restructure::edits(&restructure::chunks(&units, &case.text), &order, &case.text),
    );
    Some(Ordered { problem, order, text })
}

#[test]
fn listing_1_with_table_1_gives_listing_2() {
    let Some(Ordered { text, .. }) = ordered() else { return };
    let path = case::folder().join("listing/2_payment.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap());
}

#[test]
fn listing_2_is_the_only_best_order_of_listing_1() {
    let Some(Ordered { problem, order, .. }) = ordered() else { return };
    let queries: Vec<usize> =
        (0..order.len()).filter(|&unit| problem.units[unit].length > 0).collect();
    let best = problem.cost(&order);
    let (mut count, mut chosen) = (0, Vec::new());
    for_each_order(&mut queries.clone(), &mut chosen, &mut |queries| {
        let (mut all, mut next) = (order.clone(), queries.iter());
        let is_query = |unit: &usize| problem.units[*unit].length > 0;
        all.iter_mut().filter(|unit| is_query(unit)).for_each(|unit| *unit = *next.next().unwrap());
        if check(&problem, &all).is_ok() {
            assert!(problem.cost(&all) >= best, "{all:?} is better");
            count += usize::from(problem.cost(&all) == best);
        }
    });
    assert_eq!(count, 1);
}

/// Calls a function with each order of the units that are left, behind those that are chosen.
fn for_each_order(left: &mut Vec<usize>, chosen: &mut Vec<usize>, call: &mut impl FnMut(&[usize])) {
    if left.is_empty() {
        call(chosen);
    }
    for at in 0..left.len() {
        let unit = left.remove(at);
        chosen.push(unit);
        for_each_order(left, chosen, call);
        chosen.pop();
        left.insert(at, unit);
    }
}
