//! The order in which transactions lock tables.
//!
//! Two transactions can wait for each other if one locks rows of table A before rows of table B,
//! and the other locks them in the opposite order. If all transactions lock tables in one order,
//! no such wait is possible. Rows of one table are not distinguished: only the first lock of each
//! table counts, so transactions that lock several rows of a table must order them themselves.
//!
//! A query locks the tables of which it changes rows or reads them with a lock. In PostgreSQL the
//! rows that a query inserts do not count, since no other transaction sees them. In MySQL they do,
//! because of locks on gaps, and so do the parents of foreign keys that it checks, and what a
//! query reads at serializable. SQLite locks the whole database.

mod impose;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(crate) use self::impose::impose;
use crate::{
    api::Server,
    legality::Isolation,
    rewrite::Report,
    schema::Schema,
    solve::UnitIndex,
    sql::{Query, QueryKind},
};

/// A lock on rows of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lock {
    /// The table.
    pub table: String,
    /// The line of the query.
    pub line: usize,
}

/// The order in which all transactions of a program lock tables, or the reason why there is none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockOrder {
    /// Each transaction locks tables in this order. It has the tables that several transactions
    /// lock.
    Order(Vec<String>),
    /// Transactions that may wait for each other in a circle: each locks its first table, then the
    /// first table of the next.
    Cycle(Vec<Step>),
}

/// A transaction of a cycle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The name of its function.
    pub function: String,
    /// The lock that it gets.
    pub held: Lock,
    /// The lock that it then waits for.
    pub wanted: Lock,
}

/// The result of the demand that all transactions lock tables in one order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Imposed {
    /// They do.
    Order {
        /// The sum of the costs without the demand.
        cost_before: u128,
        /// The sum of the costs with it.
        cost: u128,
        /// True if no other order of the tables is cheaper.
        is_best: bool,
    },
    /// No such order was found; the transactions have the order that they have without the demand.
    Impossible,
}

/// Returns the tables of which a query locks rows that other transactions may lock.
pub fn locked(
    query: &Query,
    schema: &Schema,
    server: Server,
    isolation: Isolation,
) -> BTreeSet<String> {
    let mysql = server == Server::Mysql;
    let reads_lock = mysql && isolation == Isolation::Serializable;
    let mut tables = BTreeSet::new();
    if server == Server::Sqlite || query.kind == QueryKind::Read && !reads_lock {
        return tables;
    }
    for (name, access) in &query.tables {
        let changes = access.deletes || access.locks || !access.writes.is_empty();
        if changes || reads_lock || mysql && access.inserts {
            tables.extend(schema.base_tables(name));
        }
        let keys = schema.table(name).into_iter().flat_map(|table| &table.foreign_keys);
        let is_checked = |columns: &[String]| {
            access.inserts || columns.iter().any(|column| access.writes.contains(column))
        };
        for key in keys.filter(|key| mysql && is_checked(&key.columns)) {
            tables.extend(schema.base_tables(&key.table));
        }
    }
    tables
}

/// Returns the first lock of each table, in the order of units.
pub fn first_locks(report: &Report, order: &[UnitIndex]) -> Vec<Lock> {
    let mut seen = BTreeSet::new();
    let locks = order.iter().flat_map(|&unit| &report.units[unit].locks);
    locks.filter(|lock| seen.insert(lock.table.clone())).cloned().collect()
}

/// Returns the order in which the transactions, in their new orders, lock tables.
pub fn of(reports: &[Report]) -> LockOrder {
    let locks: Vec<Vec<Lock>> =
        reports.iter().map(|report| first_locks(report, &report.solution.order)).collect();
    let mut graph = Graph::default();
    for (report, locks) in reports.iter().zip(&locks) {
        for (at, held) in locks.iter().enumerate() {
            for wanted in &locks[at + 1..] {
                let step = Step {
                    function: report.function.clone(),
                    held: held.clone(),
                    wanted: wanted.clone(),
                };
                graph.add(step);
            }
        }
    }
    match graph.cycle() {
        Some(cycle) => LockOrder::Cycle(cycle),
        None => LockOrder::Order(topological(&graph, &shared(&locks))),
    }
}

/// Returns the tables that several transactions lock, in the order in which they occur.
fn shared(locks: &[Vec<Lock>]) -> Vec<String> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    locks.iter().flatten().for_each(|lock| *count.entry(&lock.table).or_default() += 1);
    let mut tables: Vec<String> = Vec::new();
    for lock in locks.iter().flatten() {
        if count[lock.table.as_str()] > 1 && !tables.contains(&lock.table) {
            tables.push(lock.table.clone());
        }
    }
    tables
}

/// Returns the tables in an order that the graph allows; of several that may come next, the first.
fn topological(graph: &Graph, tables: &[String]) -> Vec<String> {
    let mut rest = tables.to_vec();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let is_free = |table: &String| !rest.iter().any(|other| graph.has(other, table));
        let at = rest.iter().position(is_free).unwrap_or(0);
        order.push(rest.remove(at));
    }
    order
}

/// For each pair of tables, a transaction that locks the first before the second.
#[derive(Default)]
struct Graph(BTreeMap<String, BTreeMap<String, Step>>);

impl Graph {
    fn add(&mut self, step: Step) {
        let wanted = self.0.entry(step.held.table.clone()).or_default();
        wanted.entry(step.wanted.table.clone()).or_insert(step);
    }

    fn has(&self, first: &str, later: &str) -> bool {
        self.0.get(first).is_some_and(|wanted| wanted.contains_key(later))
    }

    /// Returns a shortest cycle, if there is one.
    fn cycle(&self) -> Option<Vec<Step>> {
        self.0.keys().filter_map(|table| self.cycle_through(table)).min_by_key(Vec::len)
    }

    fn cycle_through(&self, start: &str) -> Option<Vec<Step>> {
        let mut reached_by: BTreeMap<&str, &Step> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(table) = open.pop_front() {
            for (next, step) in self.0.get(table).into_iter().flatten() {
                if reached_by.contains_key(next.as_str()) {
                    continue;
                }
                reached_by.insert(next, step);
                if next == start {
                    return Some(path(&reached_by, start));
                }
                open.push_back(next);
            }
        }
        None
    }
}

/// Returns the steps that lead from a table back to it.
fn path(reached_by: &BTreeMap<&str, &Step>, start: &str) -> Vec<Step> {
    let mut steps = vec![reached_by[start].clone()];
    while steps.last().is_some_and(|step| step.held.table != start) {
        let table = steps.last().map_or("", |step| &step.held.table).to_owned();
        steps.push(reached_by[table.as_str()].clone());
    }
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests;
