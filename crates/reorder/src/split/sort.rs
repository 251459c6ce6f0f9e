//! Runs the iterations of a loop in ascending order of a key, so that all transactions lock the
//! rows of a table in one order and none waits in a circle (the paper's remark on split loops).
//!
//! ```text
//!   for (h) { … key_at[i] … }
//!   for (h) { B }              ──▶  int sorted_i[15], sorted_count;
//!                                   sorted_count = 0;
//!                                   for (h) { insert `i` behind the keys that are not greater }
//!                                   for (each one of `sorted_i`) { i = sorted_i[…]; B }
//! ```
//!
//! Invariants:
//! - SORT-1. The sorted loop has the iterations of the loop in the source: the head of the source
//!   counts them.
//! - SORT-2. Two iterations change places only if their keys differ: the sort is stable.
//! - SORT-3. A key is read early only if an earlier loop with the same head has used it in each of
//!   its iterations, and nothing has changed it since ([`filled`]).
//!
//! **Safe because** two iterations with different keys may change places:
//! - no value goes from one iteration to another or to code outside of the loop, and the loop has
//!   no effect outside of the program ([`values`]);
//! - control leaves the loop only because a query has failed, each query is checked, and all exits
//!   are written alike ([`form`]), so that which query fails first makes no difference;
//! - the rules of [`legality`] on rows and on what the isolation level guarantees hold for one
//!   iteration before the other, where the rows named by the key differ ([`Keys`]). No query
//!   inserts: the order of new rows may be seen.

mod filled;
mod form;
mod text;
mod values;

use std::fmt;

use super::{
    Refusal,
    fission::{Counting, REPLACED},
    keys::Keys,
    part::Part,
    shape,
};
use crate::{
    api::Models,
    flow::graph::NodeIndex,
    ir::{Expression, Program, StatementKind, VariableIndex},
    legality::{self, Constraint, Context, Demand, Isolation, Rule, no_error, same_table},
    rewrite::{Options, Refused, Source, for_each_transaction},
    schema::Schema,
    solve::Before,
    source::{Edit, Range},
    sql::{self, QueryKind, functions},
    units::{Piece, UnitQuery},
};

/// A loop whose iterations run in ascending order of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sorted {
    /// The name of the function.
    pub function: String,
    /// The line of the loop.
    pub line: usize,
    /// The key, as the source writes it.
    pub key: String,
}

impl fmt::Display for Sorted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sorted { function, line, key } = self;
        write!(f, "{function}: the loop at line {line} runs in ascending order of `{key}`")
    }
}

/// A loop that keeps the order of its iterations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unsorted {
    /// The name of the function.
    pub function: String,
    /// The line of the loop.
    pub line: usize,
    /// The fact that forbids another order, or that is missing.
    pub reason: Obstacle,
}

impl fmt::Display for Unsorted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unsorted { function, line, reason } = self;
        write!(f, "{function}: the loop at line {line} is not sorted: {reason}")
    }
}

/// A fact that forbids another order of the iterations, or that is missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle {
    /// The line of the code; 0 if it is the loop as a whole.
    pub line: usize,
    /// The fact.
    pub reason: String,
}

impl Obstacle {
    fn new(range: Range, text: &str, reason: impl Into<String>) -> Obstacle {
        Obstacle { line: range.line(text), reason: reason.into() }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.reason),
            line => write!(f, "line {line}: {}", self.reason),
        }
    }
}

impl From<Refusal> for Obstacle {
    fn from(refusal: Refusal) -> Obstacle {
        let Refusal { rule, line, reason } = refusal;
        Obstacle { line, reason: format!("{reason} ({rule})") }
    }
}

/// A loop that changes rows.
pub(crate) struct Candidate {
    pub(crate) function: String,
    pub(crate) line: usize,
    /// The key with the edits that sort the loop, or the reason why it keeps its order.
    pub(crate) outcome: Result<(String, Vec<Edit>), Obstacle>,
}

/// Lists the loops of all transactions that change rows.
///
/// # Errors
/// [`Refused`] if there is no transaction.
pub(crate) fn candidates(
    program: &Program,
    text: &str,
    (models, schema): (&Models, &Schema),
    options: &Options,
) -> Result<Vec<Candidate>, Refused> {
    let mut found = Vec::new();
    let source = Source { program, text, models, schema, options };
    for_each_transaction(&source, &mut |context, _, transaction| {
        let pieces: Vec<&Piece<'_>> = context
            .units
            .units
            .iter()
            .flat_map(|unit| &unit.pieces)
            .filter(|piece| transaction.range.contains(piece.range))
            .collect();
        for (at, piece) in pieces.iter().enumerate() {
            let is_loop = matches!(piece.statement.kind, StatementKind::Loop { .. });
            if is_loop && piece.queries.iter().any(changes_rows) {
                let line = piece.range.line(text);
                let function = transaction.function.name.clone();
                let outcome = sorted(context, &pieces[..at], piece, options);
                found.push(Candidate { function, line, outcome });
            }
        }
        Ok(())
    })?;
    Ok(found)
}

fn changes_rows(query: &UnitQuery) -> bool {
    query.query.kind == QueryKind::Write
}

/// Returns the key by which a loop is sorted, with the edits.
fn sorted<'a>(
    context: &Context<'_, 'a, '_>,
    before: &[&Piece<'a>],
    piece: &Piece<'a>,
    options: &Options,
) -> Result<(String, Vec<Edit>), Obstacle> {
    let text = context.text;
    let counting = Counting::of(context, piece)?;
    let Some(list) = shape::list(counting.body, text) else {
        return Err(Obstacle::new(piece.range, text, "its body has no braces"));
    };
    let part = Part::of(context, piece, list)?;
    let looping = Loop { context, counting: &counting, part: &part, options };
    form::check(&looping)?;
    values::check(&looping)?;
    looping.check_failures()?;
    looping.check_inserts()?;
    looping.check_functions()?;
    let key = looping.key()?;
    let filled = filled::of(&looping, before, key)?;
    text::edits(&looping, key, &filled)
}

/// A loop whose order is to change.
struct Loop<'l, 'c, 'a, 'p> {
    context: &'l Context<'c, 'a, 'p>,
    counting: &'l Counting<'l, 'a, 'p>,
    /// The body.
    part: &'l Part<'a>,
    options: &'l Options,
}

impl<'a> Loop<'_, '_, 'a, '_> {
    fn obstacle(&self, range: Range, reason: impl Into<String>) -> Obstacle {
        Obstacle::new(range, self.context.text, reason)
    }

    /// Returns the place of a node in the source.
    fn range_of(&self, node: NodeIndex) -> Range {
        self.context.flow.graph.nodes[node].range
    }

    fn counter(&self) -> VariableIndex {
        self.counting.head.counter
    }

    /// Refuses a query whose failure the program may not see.
    fn check_failures(&self) -> Result<(), Obstacle> {
        let flow = self.context.flow;
        let units = self.two_iterations()?;
        let context = Context { units: &units, ..*self.context };
        for node in self.part.continuing().filter(|&node| !flow.effects[node].queries.is_empty()) {
            let is_known = flow.fallible_calls(node).is_some_and(|calls| calls.len() == 1);
            if !is_known || !no_error::is_checked(&context, 2..3, node) {
                let reason = "it is not checked whether this query fails";
                return Err(self.obstacle(self.range_of(node), reason));
            }
        }
        match self.part.piece.exits.iter().find(|exit| !exit.on_failure) {
            Some(exit) => {
                let reason = "control leaves the loop for another reason than a failed query";
                Err(self.obstacle(self.range_of(exit.node), reason))
            }
            None => Ok(()),
        }
    }

    /// Makes two iterations the units 1 and 2.
    fn two_iterations(&self) -> Result<crate::units::Units<'a>, Obstacle> {
        let Counting { piece, .. } = self.counting;
        let part = || Part::of(self.context, piece, self.part.statements);
        Ok(self.counting.two_units(&self.part.nodes, [part()?.piece, part()?.piece]))
    }

    /// Refuses a query that inserts, or whose result shows an order of reads.
    fn check_inserts(&self) -> Result<(), Obstacle> {
        let flow = self.context.flow;
        for query in &self.part.piece.queries {
            let range = query.range.unwrap_or(self.counting.piece.range);
            if !matches!(query.query.kind, QueryKind::Write | QueryKind::Read) {
                return Err(self.obstacle(range, "it is not known what this query does"));
            }
            if query.query.tables.values().any(|access| access.inserts) {
                let reason = "it inserts rows, whose order may be seen";
                return Err(self.obstacle(range, reason));
            }
        }
        let shows =
            self.context.isolation != Isolation::Serializable && !self.context.relaxed_reads;
        match self.part.continuing().find(|&node| shows && flow.effects[node].result) {
            Some(node) => {
                let reason = "it reads the result of a query, and the isolation level shows in \
                              which order";
                Err(self.obstacle(self.range_of(node), reason))
            }
            None => Ok(()),
        }
    }

    /// Refuses a query or code of the function that may ask what the last query of the loop has
    /// left, such as `SELECT changes()`, and a caller that asks.
    fn check_functions(&self) -> Result<(), Obstacle> {
        let (flow, schema) = (self.context.flow, self.context.schema);
        if let Some((caller, _)) = flow.asked_by_caller() {
            let reason = format!("`{caller}` asks afterwards for what the last query has left");
            return Err(self.obstacle(self.counting.piece.range, reason));
        }
        let nodes = (0..flow.effects.len()).filter(|node| !self.part.nodes.contains(node));
        for node in nodes {
            for text in flow.effects[node].queries.iter().flat_map(|one| flow.sql_of(one, node)) {
                let queries = text.iter().map(|one| sql::analyze(one, self.context.server, schema));
                let mut called = queries.flatten().flat_map(|query| query.functions);
                if let Some(name) = called.find(|name| !functions::uses_no_table(name, schema)) {
                    let reason =
                        format!("it calls `{name}`, which may depend on what the loop did last");
                    return Err(self.obstacle(self.range_of(node), reason));
                }
            }
        }
        let piece = self.counting.piece;
        let unit = piece.nodes.first().and_then(|&node| self.context.units.of_node(node));
        match unit.and_then(|unit| legality::asked_behind(self.context, unit)) {
            Some(reason) => Err(self.obstacle(piece.range, reason)),
            None => Ok(()),
        }
    }

    /// Returns the first element that names the rows of a query that changes them, and that allows
    /// iterations with different values of it to change places.
    fn key(&self) -> Result<&'a Expression, Obstacle> {
        let keys = self.keys(self.context, None);
        let mut elements: Vec<&Expression> = Vec::new();
        for query in self.part.piece.queries.iter().filter(|query| changes_rows(query)) {
            for element in keys.elements_of(query) {
                if !elements.iter().any(|known| super::number::are_alike(known, element)) {
                    elements.push(element);
                }
            }
        }
        let mut refused = None;
        for element in elements {
            match self.check_exchange(element) {
                Ok(()) => return Ok(element),
                Err(obstacle) => refused = refused.or(Some(obstacle)),
            }
        }
        Err(refused.unwrap_or_else(|| {
            let reason = "no element of an array of integers, with the number of the iteration as \
                          the index, names the rows that it changes";
            self.obstacle(self.counting.piece.range, reason)
        }))
    }

    fn keys<'k, 'c, 'p>(
        &'k self,
        context: &'k Context<'c, 'a, 'p>,
        sorted_by: Option<&'k Expression>,
    ) -> Keys<'k, 'a, 'p>
    where
        'c: 'k,
    {
        Keys {
            context,
            counter: self.counter(),
            test: self.counting.test,
            nodes: self.part.nodes.clone(),
            distinct: &self.options.distinct,
            sorted_by,
            missing: Default::default(),
        }
    }

    /// Asks the rules on rows about two iterations with different values of an element.
    fn check_exchange(&self, element: &'a Expression) -> Result<(), Obstacle> {
        let units = self.two_iterations()?;
        let context = Context { units: &units, ..*self.context };
        let keys = self.keys(&context, Some(element));
        let constraint = match same_table::between(&context, (1, 2), &keys) {
            Some(reason) => Some(match keys.missing() {
                Some(fact) => (Rule::SameTable, format!("{reason}, and {fact}")),
                None => (Rule::SameTable, reason),
            }),
            None => {
                let exchanged = Demand::Before(Before { first: 1, later: 2 });
                // `values` and `form` stand for the rules on values and on exits.
                let without = [Rule::SameTable, Rule::Exit];
                let without: Vec<Rule> = REPLACED.into_iter().chain(without).collect();
                let found = legality::constraints(&context, &without).into_iter();
                let mut found = found.filter(|one| one.demand == exchanged);
                found.next().map(|Constraint { rule, reason, .. }| (rule, reason))
            }
        };
        match constraint {
            Some((rule, reason)) => {
                let reason = format!("between two iterations: {reason} ({rule})");
                Err(self.obstacle(self.counting.piece.range, reason))
            }
            None => Ok(()),
        }
    }
}
