//! A scenario for each order of keys in the test kit. The scenarios take turns with the mixtures of
//! lengths, the kinds of values and the orders of removal. Each also changes a second table, which
//! the pattern does not fill.

use clearway_testkit::{Lengths, Limits, Order, Pattern, Random, Removal, Step, Steps, Values};

use super::{
    runner::{ScenarioRunner, StepResult},
    scenarios::Scenario,
    setup::engine_options,
    work::Work,
};

/// All patterned scenarios. Each has the name of its order.
pub(super) const SCENARIOS: [Scenario; 11] = [
    ("ascending", |runner| run(runner, Order::Ascending)),
    ("descending", |runner| run(runner, Order::Descending)),
    ("window-up", |runner| run(runner, Order::WindowUp)),
    ("window-down", |runner| run(runner, Order::WindowDown)),
    ("zigzag-out", |runner| run(runner, Order::ZigzagOut)),
    ("zigzag-in", |runner| run(runner, Order::ZigzagIn)),
    ("interleaved", |runner| run(runner, Order::Interleaved)),
    ("groups-descending", |runner| run(runner, Order::GroupsDescending)),
    ("growing-prefixes", |runner| run(runner, Order::GrowingPrefixes)),
    ("one-key", |runner| run(runner, Order::OneKey)),
    ("random", |runner| run(runner, Order::Random)),
];

const TABLE: &str = "t";
/// The table that no pattern touches.
const OTHER: &str = "other";
/// The number of rows in it.
const OTHER_ROWS: u64 = 10;
/// One in this many orders uses pages of the default size.
const LARGE_NODE_EVERY: usize = 3;
const LARGE_NODE: usize = 8192;

/// The parameters of a scenario: the keys and values to insert, and the page size.
struct Design {
    node_bytes: usize,
    pattern: Pattern,
    insertions: u64,
    /// The number of steps in a transaction.
    at_once: usize,
}

/// The pattern of the scenario of this name, if it has one.
pub(super) fn pattern_of(scenario: &str) -> Option<Pattern> {
    let order = Order::ALL.into_iter().find(|order| order.name() == scenario)?;
    Some(design(order).pattern)
}

fn design(order: Order) -> Design {
    let at = Order::ALL.iter().position(|one| *one == order).expect("all orders are listed");
    // Descending keys, alternately long and short: the case in which the fences of a split need the
    // most space.
    let is_large = at % LARGE_NODE_EVERY == LARGE_NODE_EVERY - 1 || order == Order::WindowDown;
    let node_bytes = if is_large { LARGE_NODE } else { engine_options().node_bytes };
    let limits = Limits::of_node(node_bytes);
    let mut pattern = Pattern::with_order(order, &mut Random::new(at as u64), limits);
    pattern.lengths = Lengths::ALL[at % Lengths::ALL.len()];
    pattern.values = Values::ALL[at % Values::ALL.len()];
    pattern.removal = Removal::ALL[at % Removal::ALL.len()];
    if order == Order::Descending {
        // This scenario is the longest even without a second load.
        pattern.removal = Removal::EverySecond;
    }
    // A few dozen of the largest records fill a few leaves, as do the larger numbers of small ones.
    let (insertions, at_once) = match order {
        Order::WindowDown => (120, 10),
        _ if is_large => (40, 8),
        // A long load without reads and rollbacks: no descent follows a foster chain to the right.
        Order::Descending => (400, 100),
        _ if pattern.values == Values::Overflow => (24, 2),
        _ => (110, 10),
    };
    Design { node_bytes, pattern, insertions, at_once }
}

fn run(runner: &mut ScenarioRunner, order: Order) -> StepResult {
    let Design { node_bytes, pattern, insertions, at_once } = design(order);
    runner.options.node_bytes = node_bytes;
    if node_bytes == LARGE_NODE {
        // A split or a merge logs an image of a page.
        runner.options.log.segment_bytes = 64 << 10;
        runner.options.log.capacity_bytes = 1 << 20;
    }
    runner.open()?;
    runner.create_table(OTHER)?;
    runner.create_table(TABLE)?;
    let mut work = runner.begin();
    (0..OTHER_ROWS).try_for_each(|number| put_beside(runner, &mut work, number, 0))?;
    runner.commit(work)?;
    let mut steps = pattern.steps(insertions);
    for round in 1.. {
        if !advance(runner, &mut steps, at_once, round)? {
            break;
        }
        if round % 4 == 0 && order != Order::Descending {
            run_and_roll_back(runner, steps.clone(), at_once)?;
        }
        if round % 5 == 0 {
            runner.maintain()?;
        }
        if round % 5 == 4 {
            runner.checkpoint()?;
        }
    }
    runner.maintain()?;
    runner.close()?;
    runner.open()
}

/// Runs a transaction with the next steps and a row of the other table. Returns false if no steps
/// were left.
fn advance(
    runner: &mut ScenarioRunner,
    steps: &mut Steps,
    count: usize,
    round: u64,
) -> StepResult<bool> {
    let mut work = runner.begin();
    let mut is_any = false;
    for step in steps.by_ref().take(count) {
        take(runner, &mut work, step)?;
        is_any = true;
    }
    put_beside(runner, &mut work, round % OTHER_ROWS, round)?;
    match round % 3 {
        0 => runner.commit_durably(work)?,
        _ => runner.commit(work).map(drop)?,
    }
    Ok(is_any)
}

/// Runs the next steps in a transaction that is rolled back. The next call of [`advance`] runs the
/// same steps and commits them.
fn run_and_roll_back(runner: &mut ScenarioRunner, steps: Steps, count: usize) -> StepResult {
    let mut work = runner.begin();
    steps.take(count).try_for_each(|step| take(runner, &mut work, step))?;
    runner.roll_back(work)
}

fn take(runner: &mut ScenarioRunner, work: &mut Work, step: Step) -> StepResult {
    match step {
        Step::Put { key, value } => runner.put(work, TABLE, &key, &value),
        Step::Delete { key } => runner.delete(work, TABLE, &key),
    }
}

fn put_beside(runner: &mut ScenarioRunner, work: &mut Work, number: u64, value: u64) -> StepResult {
    runner.put(work, OTHER, &number.to_be_bytes(), &value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use clearway_testkit::Drawn;

    use super::*;

    #[test]
    fn the_scenarios_have_every_order_and_every_mixture() {
        let mut drawn = Drawn::default();
        for (name, _) in SCENARIOS {
            drawn.note(&pattern_of(name).unwrap());
        }
        assert_eq!(drawn.missing(), Vec::<&str>::new());
    }
}
