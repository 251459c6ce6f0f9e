//! The weight and the length of each unit: how contended its locks are, and how long it takes.
//!
//! Without a profile the tool estimates. A write of existing rows weighs more the more tables refer
//! to its table, directly or through others: such a table has few rows, which many transactions
//! write. An insert seldom waits for anyone. A read without locks weighs nothing. All queries take
//! the same time.

use crate::{
    api::Server,
    legality::Isolation,
    schema::Schema,
    solve::UnitCost,
    sql::{QueryKind, TableAccess},
    units::{Unit, UnitQuery},
};

/// The weight of an insert, and the step of the other estimates.
const INSERT: u64 = 1;
const STEP: u64 = 10;

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

/// Returns the cost of a unit, estimated from the schema.
pub fn estimate(
    unit: &Unit<'_>,
    schema: &Schema,
    server: Server,
    isolation: Isolation,
) -> UnitCost {
    let reads_lock = server == Server::Mysql && isolation == Isolation::Serializable;
    let weight = unit.queries().map(|query| weight(query, schema, reads_lock)).sum();
    UnitCost { weight, length: unit.queries().count() as u64 }
}

fn weight(query: &UnitQuery, schema: &Schema, reads_lock: bool) -> u64 {
    let locks = query.query.kind == QueryKind::Write || reads_lock;
    let of_table = |(name, access): (&String, &TableAccess)| {
        let changes = access.deletes || access.locks || !access.writes.is_empty() || reads_lock;
        match (locks, changes, access.inserts) {
            (true, true, _) => STEP * (1 + schema.referencing_count(name) as u64),
            (true, false, true) => INSERT,
            _ => 0,
        }
    };
    query.query.tables.iter().map(of_table).sum()
}
