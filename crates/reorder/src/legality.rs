//! The orders of units that do what the source does: one rule a file, each with its constraints
//! and the reason why breaking none of them is safe.
//!
//! A rule adds constraints on pairs or triples of units. An order that obeys all of them is legal.
//! A rule never removes a constraint of another.
//!
//! | rule | keeps |
//! | --- | --- |
//! | `barriers` | what the tool does not understand, in its place, and what it finds there |
//! | `declarations` | declarations before uses |
//! | `read_after_write`, `write_after_write`, `write_after_read` | values of variables |
//! | `outside_effects` | output, time, random numbers |
//! | `exits` | what runs only if an exit was not taken |
//! | `same_table`, `foreign_keys`, `triggers`, `functions` | rows |
//! | `read_order`, `lost_updates`, `conversions` | what the isolation level guarantees |

mod barriers;
mod conversions;
mod declarations;
mod exits;
mod foreign_keys;
mod functions;
pub mod isolation;
mod left_number;
mod lost_updates;
pub(crate) mod no_error;
mod outside_effects;
mod read_after_write;
mod read_order;
pub(crate) mod same_row;
pub(crate) mod same_table;
mod triggers;
mod values;
mod write_after_read;
mod write_after_write;

use std::{cell::OnceCell, collections::BTreeSet, fmt, rc::Rc};

pub(crate) use self::values::{Read, reads, writers};
use crate::{
    api::Server,
    flow::{Flow, place::Place},
    ir::{Language, Program},
    schema::Schema,
    solve::{Before, Outside, Problem, UnitIndex},
    units::Units,
};

/// An isolation level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Isolation {
    /// Each query sees what was committed before it began.
    ReadCommitted,
    /// All queries see what was committed before the first one began.
    RepeatableRead,
    /// The transactions have the effect of a serial execution.
    Serializable,
}

impl Isolation {
    /// Returns the level at which a server runs transactions that choose none.
    pub fn default_of(server: Server) -> Isolation {
        match server {
            Server::Postgresql => Isolation::ReadCommitted,
            Server::Mysql => Isolation::RepeatableRead,
            Server::Sqlite => Isolation::Serializable,
        }
    }
}

/// The facts that the rules use.
pub struct Context<'c, 'a, 'p> {
    /// The program.
    pub program: &'a Program,
    /// The source.
    pub text: &'c str,
    /// The data flow of the function.
    pub flow: &'c Flow<'a, 'p>,
    /// The units.
    pub units: &'c Units<'a>,
    /// The schema.
    pub schema: &'c Schema,
    /// The server.
    pub server: Server,
    /// The isolation level of the transaction.
    pub isolation: Isolation,
    /// True if reads of different rows may change places below serializable, and reads and locks.
    pub relaxed_reads: bool,
}

/// A rule, by the name that the user sees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// `barriers`.
    Barrier,
    /// `declarations`.
    Declaration,
    /// `read_after_write`.
    ReadAfterWrite,
    /// `write_after_write`.
    WriteAfterWrite,
    /// `write_after_read`.
    WriteAfterRead,
    /// `outside_effects`.
    OutsideEffect,
    /// `exits`.
    Exit,
    /// `same_table`.
    SameTable,
    /// `foreign_keys`.
    ForeignKey,
    /// `triggers`.
    Trigger,
    /// `functions`.
    Function,
    /// `read_order`.
    ReadOrder,
    /// `lost_updates`.
    LostUpdate,
    /// `conversions`.
    Conversion,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 14] = [
        Rule::Barrier,
        Rule::Declaration,
        Rule::ReadAfterWrite,
        Rule::WriteAfterWrite,
        Rule::WriteAfterRead,
        Rule::OutsideEffect,
        Rule::Exit,
        Rule::SameTable,
        Rule::ForeignKey,
        Rule::Trigger,
        Rule::Function,
        Rule::ReadOrder,
        Rule::LostUpdate,
        Rule::Conversion,
    ];

    /// Returns the name of the rule.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Barrier => "barrier",
            Rule::Declaration => "declaration",
            Rule::ReadAfterWrite => "read after write",
            Rule::WriteAfterWrite => "write after write",
            Rule::WriteAfterRead => "write after read",
            Rule::OutsideEffect => "outside effect",
            Rule::Exit => "exit",
            Rule::SameTable => "same table",
            Rule::ForeignKey => "foreign key",
            Rule::Trigger => "trigger",
            Rule::Function => "function",
            Rule::ReadOrder => "read order",
            Rule::LostUpdate => "lost update",
            Rule::Conversion => "lock conversion",
        }
    }

    fn find(self, context: &Context<'_, '_, '_>, found: &mut Found) {
        match self {
            Rule::Barrier => barriers::find(context, found),
            Rule::Declaration => declarations::find(context, found),
            Rule::ReadAfterWrite => read_after_write::find(context, found),
            Rule::WriteAfterWrite => write_after_write::find(context, found),
            Rule::WriteAfterRead => write_after_read::find(context, found),
            Rule::OutsideEffect => outside_effects::find(context, found),
            Rule::Exit => exits::find(context, found),
            Rule::SameTable => same_table::find(context, found),
            Rule::ForeignKey => foreign_keys::find(context, found),
            Rule::Trigger => triggers::find(context, found),
            Rule::Function => functions::find(context, found),
            Rule::ReadOrder => read_order::find(context, found),
            Rule::LostUpdate => lost_updates::find(context, found),
            Rule::Conversion => conversions::find(context, found),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The demand of a constraint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Demand {
    /// One unit stands before another.
    Before(Before),
    /// A unit stays out of a range.
    Outside(Outside),
}

/// A constraint, with its reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    /// Its demand.
    pub demand: Demand,
    /// The rule that demands it.
    pub rule: Rule,
    /// The reason: the variable, the table, the call.
    pub reason: String,
}

/// The constraints that were found, each demand once for a rule and a reason.
#[derive(Default)]
struct Found {
    constraints: Vec<Constraint>,
    seen: BTreeSet<(Demand, Rule, String)>,
    /// The reads of all units, once a rule asked for them.
    reads: OnceCell<Rc<[values::Read]>>,
}

impl Found {
    /// Returns the reads of all units.
    fn reads(&self, context: &Context<'_, '_, '_>) -> Rc<[values::Read]> {
        Rc::clone(self.reads.get_or_init(|| values::reads(context).into()))
    }

    fn before(&mut self, first: UnitIndex, later: UnitIndex, rule: Rule, reason: String) {
        if first != later {
            self.add(Demand::Before(Before { first, later }), rule, reason);
        }
    }

    fn outside(&mut self, outside: Outside, rule: Rule, reason: String) {
        self.add(Demand::Outside(outside), rule, reason);
    }

    fn add(&mut self, demand: Demand, rule: Rule, reason: String) {
        if self.seen.insert((demand, rule, reason.clone())) {
            self.constraints.push(Constraint { demand, rule, reason });
        }
    }
}

/// Finds the constraints on the order of the units, by all rules but those in `without`.
pub fn constraints(context: &Context<'_, '_, '_>, without: &[Rule]) -> Vec<Constraint> {
    let mut found = Found::default();
    for rule in Rule::ALL.into_iter().filter(|rule| !without.contains(rule)) {
        rule.find(context, &mut found);
    }
    found.constraints
}

/// Returns the problem without costs that constraints make of units.
pub fn problem(units: usize, constraints: &[Constraint]) -> Problem {
    let mut problem = Problem { units: vec![Default::default(); units], ..Problem::default() };
    for constraint in constraints {
        match constraint.demand {
            Demand::Before(before) if !problem.before.contains(&before) => {
                problem.before.push(before);
            }
            Demand::Outside(outside) if !problem.outside.contains(&outside) => {
                problem.outside.push(outside);
            }
            _ => {}
        }
    }
    problem
}

/// Returns a name for a place, for a message.
pub(crate) fn place_name(context: &Context<'_, '_, '_>, place: &Place) -> String {
    values::name(context, place)
}

/// Returns why code or a query behind a unit may ask for what the unit's queries have left on the
/// connection, if it may.
pub(crate) fn asked_behind(context: &Context<'_, '_, '_>, unit: UnitIndex) -> Option<String> {
    let by_query = functions::asking(context).filter(|&(last, _)| unit < last);
    let by_query = by_query.map(|(_, reason)| reason);
    by_query.or_else(|| barriers::asked_behind(context, unit))
}

/// Returns true if the caller of the function may see a place.
pub(crate) fn place_is_seen(context: &Context<'_, '_, '_>, place: &Place) -> bool {
    write_after_write::is_seen(context, place)
}

impl Context<'_, '_, '_> {
    /// Returns all pairs of units, the earlier one first.
    fn pairs(&self) -> impl Iterator<Item = (UnitIndex, UnitIndex)> + use<> {
        let count = self.units.units.len();
        (0..count).flat_map(move |first| (first + 1..count).map(move |later| (first, later)))
    }

    fn is_cpp(&self) -> bool {
        self.program.language == Language::Cpp
    }
}
