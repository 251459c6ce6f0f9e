//! A script for each order of keys in the test kit, with the mixtures of lengths, the kinds of
//! values and the removals in turn, and a table beside the one that the pattern fills.

use clearway_testkit::{Lengths, Limits, Order, Pattern, Random, Removal, Step, Steps, Values};

use super::{
    play::{Play, Played},
    scripts::Script,
    stage::engine_options,
    work::Work,
};

/// All of them. The names are those of the orders.
pub(super) const SCRIPTS: [Script; 11] = [
    ("ascending", |play| run(play, Order::Ascending)),
    ("descending", |play| run(play, Order::Descending)),
    ("window-up", |play| run(play, Order::WindowUp)),
    ("window-down", |play| run(play, Order::WindowDown)),
    ("zigzag-out", |play| run(play, Order::ZigzagOut)),
    ("zigzag-in", |play| run(play, Order::ZigzagIn)),
    ("interleaved", |play| run(play, Order::Interleaved)),
    ("groups-descending", |play| run(play, Order::GroupsDescending)),
    ("growing-prefixes", |play| run(play, Order::GrowingPrefixes)),
    ("one-key", |play| run(play, Order::OneKey)),
    ("random", |play| run(play, Order::Random)),
];

const TABLE: &str = "t";
/// The table that no pattern touches.
const OTHER: &str = "other";
/// Rows of it.
const OTHER_ROWS: u64 = 10;
/// Of so many orders one is on pages of the default size.
const LARGE_NODE_EVERY: usize = 3;
const LARGE_NODE: usize = 8192;

/// What a script inserts, and on what pages.
struct Design {
    node_bytes: usize,
    pattern: Pattern,
    insertions: u64,
    /// Steps in a transaction.
    at_once: usize,
}

/// The pattern of the script of this name, if it has one.
pub(super) fn pattern_of(script: &str) -> Option<Pattern> {
    let order = Order::ALL.into_iter().find(|order| order.name() == script)?;
    Some(design(order).pattern)
}

fn design(order: Order) -> Design {
    let at = Order::ALL.iter().position(|one| *one == order).expect("all orders are listed");
    // Long and short keys in turn, downwards: the fences of a split weigh most.
    let is_large = at % LARGE_NODE_EVERY == LARGE_NODE_EVERY - 1 || order == Order::WindowDown;
    let node_bytes = if is_large { LARGE_NODE } else { engine_options().node_bytes };
    let limits = Limits::of_node(node_bytes);
    let mut pattern = Pattern::with_order(order, &mut Random::new(at as u64), limits);
    pattern.lengths = Lengths::ALL[at % Lengths::ALL.len()];
    pattern.values = Values::ALL[at % Values::ALL.len()];
    pattern.removal = Removal::ALL[at % Removal::ALL.len()];
    if order == Order::Descending {
        // The longest script is long enough without a second load.
        pattern.removal = Removal::EverySecond;
    }
    // A few dozen of the largest records for a few leaves; as many of the small ones.
    let (insertions, at_once) = match order {
        Order::WindowDown => (120, 10),
        _ if is_large => (40, 8),
        // A long load of which nothing is read or taken back: nobody walks to the right.
        Order::Descending => (400, 100),
        _ if pattern.values == Values::Overflow => (24, 2),
        _ => (110, 10),
    };
    Design { node_bytes, pattern, insertions, at_once }
}

fn run(play: &mut Play, order: Order) -> Played {
    let Design { node_bytes, pattern, insertions, at_once } = design(order);
    play.options.node_bytes = node_bytes;
    if node_bytes == LARGE_NODE {
        // A split or a merge logs an image of a page.
        play.options.log.segment_bytes = 64 << 10;
        play.options.log.capacity_bytes = 1 << 20;
    }
    play.open()?;
    play.create_table(OTHER)?;
    play.create_table(TABLE)?;
    let mut work = play.begin();
    (0..OTHER_ROWS).try_for_each(|number| put_beside(play, &mut work, number, 0))?;
    play.commit(work)?;
    let mut steps = pattern.steps(insertions);
    for round in 1.. {
        if !advance(play, &mut steps, at_once, round)? {
            break;
        }
        if round % 4 == 0 && order != Order::Descending {
            take_back(play, steps.clone(), at_once)?;
        }
        if round % 5 == 0 {
            play.maintain()?;
        }
        if round % 5 == 4 {
            play.checkpoint()?;
        }
    }
    play.maintain()?;
    play.close()?;
    play.open()
}

/// A transaction with the next steps, and with a row of the other table. False if none was left.
fn advance(play: &mut Play, steps: &mut Steps, count: usize, round: u64) -> Played<bool> {
    let mut work = play.begin();
    let mut is_any = false;
    for step in steps.by_ref().take(count) {
        take(play, &mut work, step)?;
        is_any = true;
    }
    put_beside(play, &mut work, round % OTHER_ROWS, round)?;
    match round % 3 {
        0 => play.commit_durably(work)?,
        _ => play.commit(work).map(drop)?,
    }
    Ok(is_any)
}

/// The same steps, rolled back before they are taken in earnest.
fn take_back(play: &mut Play, steps: Steps, count: usize) -> Played {
    let mut work = play.begin();
    steps.take(count).try_for_each(|step| take(play, &mut work, step))?;
    play.roll_back(work)
}

fn take(play: &mut Play, work: &mut Work, step: Step) -> Played {
    match step {
        Step::Put { key, value } => play.put(work, TABLE, &key, &value),
        Step::Delete { key } => play.delete(work, TABLE, &key),
    }
}

fn put_beside(play: &mut Play, work: &mut Work, number: u64, value: u64) -> Played {
    play.put(work, OTHER, &number.to_be_bytes(), &value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use clearway_testkit::Drawn;

    use super::*;

    #[test]
    fn the_scripts_have_every_order_and_every_mixture() {
        let mut drawn = Drawn::default();
        for (name, _) in SCRIPTS {
            drawn.note(&pattern_of(name).unwrap());
        }
        assert_eq!(drawn.missing(), Vec::<&str>::new());
    }
}
