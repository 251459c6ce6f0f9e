//! The weight and the length of each unit: how contended its locks are, and how long it takes.
//!
//! Without a profile the tool estimates. A write of existing rows weighs more the more tables refer
//! to its table, directly or through others: such a table has few rows, which many transactions
//! write. An insert seldom waits for anyone. A read without locks weighs nothing, nor does a write
//! of a row that the transaction has locked before. All queries take the same time. With the
//! objective [`Objective::Hold`], a query in a loop takes it ten times. Its weight counts once: a
//! table of which a transaction writes several rows has many.
//!
//! With a profile and the objective [`Objective::Hold`], weight and length of a unit are those that
//! one transaction has on average: a query that a transaction executes with probability ½ counts
//! half, one in a loop counts several times. The number of transactions is that of their begins, if
//! the profile has them, and else the largest count of a query outside of loops. A read without
//! locks weighs nothing here either: what its times differ by is no wait for a lock. With the
//! objective [`Objective::Position`] it has its measured weight, as in the paper, whose reads take
//! locks.

mod locked;

pub(crate) use self::locked::Locked;

use crate::{
    api::Server,
    ir::{Expression, ExpressionKind, LoopForm, StatementKind},
    legality::{Context, Isolation},
    profile::{COST_MAX, Key, Profile, Weights, calls::Call},
    schema::Schema,
    solve::UnitCost,
    sql::{QueryKind, TableAccess},
    units::{Piece, Unit, UnitQuery, Units},
};

/// The weight of an insert, and the step of the other estimates.
const INSERT: u64 = 1;
const STEP: u64 = 10;
/// The number of iterations of a loop, which is not known.
const ITERATIONS: u64 = 10;
/// The greatest number of nested loops that count.
const NESTED_MAX: u32 = 2;

/// The quantity that is minimized.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Objective {
    /// The sum over all queries of the weight times the number of queries from it to the end: the
    /// paper's objective (§4.2).
    Position,
    /// The sum over all queries of the weight times the expected time from it to the end.
    #[default]
    Hold,
}

/// The choices that determine the costs of units.
#[derive(Clone, Debug, Default)]
pub struct Costing {
    /// The measured times; without them the costs are estimates.
    pub profile: Option<Profile>,
    /// The property of the times that is the weight.
    pub weights: Weights,
    /// The objective.
    pub objective: Objective,
}

/// The units in which weights and lengths are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    /// Weights are estimates, lengths are numbers of queries.
    #[default]
    Estimated,
    /// Weights are nanoseconds, lengths are numbers of queries.
    Position,
    /// Both are nanoseconds.
    Hold,
}

impl Costing {
    /// Returns the units of the costs.
    pub fn scale(&self) -> Scale {
        match (&self.profile, self.objective) {
            (None, _) => Scale::Estimated,
            (Some(_), Objective::Position) => Scale::Position,
            (Some(_), Objective::Hold) => Scale::Hold,
        }
    }
}

/// Measured costs.
pub(crate) struct Measured {
    /// The cost of each unit.
    pub costs: Vec<UnitCost>,
    /// The queries of which the profile knows nothing; they cost nothing.
    pub unknown: Vec<Key>,
}

/// Returns the costs of units by a profile; `None` if it has none of the calls, or no call was
/// executed. `reads_lock` is that of [`reads_lock`].
pub(crate) fn measured(
    profile: &Profile,
    costing: &Costing,
    units: &Units<'_>,
    calls: &[Call],
    reads_lock: bool,
) -> Option<Measured> {
    let transactions = transactions(profile, calls)?;
    let mut sums = vec![(0.0, 0.0); units.units.len()];
    let mut unknown = Vec::new();
    for call in calls {
        let Some(unit) = units.of_node(call.node) else { continue };
        let Some(times) = profile.queries.get(&call.key) else {
            unknown.push(call.key.clone());
            continue;
        };
        let Some(cost) = profile.weight(&call.key, costing.weights) else { continue };
        let share = match costing.objective {
            Objective::Position => 1.0,
            Objective::Hold => times.count as f64 / transactions as f64,
        };
        sums[unit].0 += share * cost.weight as f64;
        sums[unit].1 += share * cost.length as f64;
    }
    // A conversion from a float to an integer saturates.
    let rounded = |sum: f64| (sum.round() as u64).min(COST_MAX);
    let waits = |unit: &Unit<'_>| {
        costing.objective == Objective::Position
            || unit.queries().any(|query| reads_lock || query.query.kind != QueryKind::Read)
    };
    let cost = |(unit, (weight, length)): (&Unit<'_>, (f64, f64))| UnitCost {
        weight: if waits(unit) { rounded(weight) } else { 0 },
        length: match costing.objective {
            Objective::Position => unit.queries().count() as u64,
            Objective::Hold => rounded(length),
        },
    };
    Some(Measured { costs: units.units.iter().zip(sums).map(cost).collect(), unknown })
}

/// Returns true if plain reads of rows take locks.
pub(crate) fn reads_lock(server: Server, isolation: Isolation) -> bool {
    server == Server::Mysql && isolation == Isolation::Serializable
}

/// Returns how many transactions a profile has measured; `None` if none.
fn transactions(profile: &Profile, calls: &[Call]) -> Option<u64> {
    let count = |call: &Call| profile.queries.get(&call.key).map_or(0, |times| times.count);
    let most = |wanted: &dyn Fn(&Call) -> bool| {
        calls.iter().filter(|call| wanted(call)).map(count).max().filter(|&count| count > 0)
    };
    most(&|call| call.begins).or_else(|| most(&|call| !call.repeats)).or_else(|| most(&|_| true))
}

/// Returns the cost of a unit, estimated from the schema. `locked` has the writes of rows that are
/// locked before.
pub(crate) fn estimate(
    context: &Context<'_, '_, '_>,
    unit: &Unit<'_>,
    objective: Objective,
    locked: &Locked<'_>,
) -> UnitCost {
    let reads_lock = reads_lock(context.server, context.isolation);
    let mut cost = UnitCost { weight: 0, length: 0 };
    for piece in &unit.pieces {
        for query in &piece.queries {
            cost.weight += weight(query, context.schema, reads_lock, locked);
            cost.length += match objective {
                Objective::Position => 1,
                Objective::Hold => executions(piece, query),
            };
        }
    }
    cost
}

/// Returns how often a transaction executes a query of a piece.
fn executions(piece: &Piece<'_>, query: &UnitQuery) -> u64 {
    // The query of a function that the piece calls stands elsewhere.
    let own = query.range.filter(|range| piece.range.contains(*range));
    let mut loops = 0;
    piece.statement.walk(&mut |inner| {
        let contains = match own {
            Some(range) => inner.range.contains(range),
            None => inner.range == piece.statement.range,
        };
        let StatementKind::Loop { form, condition, .. } = &inner.kind else { return };
        let ends =
            |one: &Expression| matches!(&one.kind, ExpressionKind::Constant(value) if value == "0");
        let once = *form == LoopForm::DoWhile && condition.as_ref().is_some_and(ends);
        loops += u32::from(contains && !once);
    });
    ITERATIONS.pow(loops.min(NESTED_MAX))
}

fn weight(query: &UnitQuery, schema: &Schema, reads_lock: bool, locked: &Locked<'_>) -> u64 {
    let locks = query.query.kind == QueryKind::Write || reads_lock;
    let of_table = |(name, access): (&String, &TableAccess)| {
        if locked.contains(query, name) {
            return 0;
        }
        let changes = access.deletes || access.locks || !access.writes.is_empty() || reads_lock;
        match (locks, changes, access.inserts) {
            (true, true, _) => STEP * (1 + schema.referencing_count(name) as u64),
            (true, false, true) => INSERT,
            _ => 0,
        }
    };
    query.query.tables.iter().map(of_table).sum()
}
