//! The whole way from a program to the edits that reorder its transactions.

use std::{collections::BTreeMap, error::Error, fmt};

use crate::{
    advice::{self, Advice},
    api::{Models, Role, Server},
    flow::{Flow, access::Effects, summary::Summaries},
    ir::Program,
    legality::{self, Constraint, Context, Demand, Isolation, Rule, isolation},
    lock_order::{self, Imposed, Lock},
    parallel,
    profile::{
        Key,
        calls::{self, Call, Ordinals},
    },
    rename::{self, Renaming},
    restructure::{self, Move},
    schema::Schema,
    solve::{Before, Broken, Limits, Problem, Solution, UnitCost},
    source::{self, Edit, Range},
    split::{Sorted, Split, Unsorted, trace::Trace},
    transaction::{self, LeftOpen, NoTransaction, Transaction},
    units::{Barrier, Unit, Units},
    weights::{self, Costing, Measured, Scale},
};

/// The choices of the user.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The function with the transaction; all transactions of the file if it is `None`.
    pub function: Option<String>,
    /// The isolation level. If it is `None`, the level that the function's SQL states, or else the
    /// server's default.
    pub isolation: Option<Isolation>,
    /// True if reads of different rows may change places below serializable.
    pub relaxed_reads: bool,
    /// The arrays whose elements differ from one another, by the name of the variable or field:
    /// `trade_id`; `lines.item` for the field `item` of the elements of `lines`.
    pub distinct: Vec<String>,
    /// The choices that determine the costs.
    pub costing: Costing,
    /// True if all transactions are to lock tables in one order.
    pub lock_order: bool,
    /// True if loops that change rows by a key run in the order of the key, where that is legal.
    pub sort_keys: bool,
    /// True if loops and conditional statements stay whole.
    pub no_split: bool,
    /// True if variables keep their names.
    pub no_rename: bool,
    /// The rules that do not apply. For tests: an order that ignores a rule is wrong.
    pub without: Vec<Rule>,
}

/// A reordered program.
#[derive(Debug)]
pub struct Rewritten {
    /// The text.
    pub text: String,
    /// The way from the text back to the one in which the units had their old order.
    pub(crate) moved: Trace,
    /// The statements that were split before the units were ordered, in the order of the splits.
    pub splits: Vec<Split>,
    /// The variables that got several names, in the order of the source.
    pub renamings: Vec<Renaming>,
    /// The variables whose name holds a transaction back and that cannot get several names.
    pub refusals: Vec<rename::Refusal>,
    /// The reasons why loops are not split that end with a fact which the user could state.
    pub unstated: Vec<String>,
    /// The loops that run in the order of a key, in the order of the source.
    pub sorted: Vec<Sorted>,
    /// The loops that keep the order of their iterations, though the user wants them sorted.
    pub unsorted: Vec<Unsorted>,
    /// The functions that begin a transaction which was not found.
    pub left_open: Vec<LeftOpen>,
    /// The report on each transaction, in the order of the source.
    pub transactions: Vec<Report>,
    /// The result of the demand for one order of locks, if the user has made it.
    pub lock_order: Option<Imposed>,
}

/// A report on one transaction: its units, its constraints and its order.
#[derive(Debug)]
pub struct Report {
    /// The name of the function.
    pub function: String,
    /// The line of the transaction's first statement.
    pub line: usize,
    /// The server, which decides on the isolation level and on what locks.
    pub server: Server,
    /// The isolation level.
    pub isolation: Isolation,
    /// The units, in the order of the source.
    pub units: Vec<UnitReport>,
    /// The constraints on their order.
    pub constraints: Vec<Constraint>,
    /// The precedences by which all transactions lock tables in one order; none unless the user
    /// demands that they do. The source need not obey them.
    pub lock_order: Vec<Before>,
    /// The changes of the code that would make the transaction faster or right.
    pub advice: Vec<Advice>,
    /// The units of the costs.
    pub scale: Scale,
    /// The queries of which the profile knows nothing; none without a profile.
    pub unmeasured: Vec<Key>,
    /// The cost of the order of the source.
    pub cost_before: u128,
    /// The new order, its cost, and a lower bound on all costs.
    pub solution: Solution,
}

impl Report {
    /// Returns the problem whose solution is the new order.
    pub fn problem(&self) -> Problem {
        let units = self.units.iter().map(|unit| unit.cost).collect();
        let mut problem = legality::problem(self.units.len(), &self.constraints);
        problem.before.extend(&self.lock_order);
        Problem { units, ..problem }
    }
}

/// A unit, for people.
#[derive(Clone, Debug)]
pub struct UnitReport {
    /// Its range in the source.
    pub range: Range,
    /// Its first line, and its last.
    pub lines: (usize, usize),
    /// The SQL of its queries.
    pub queries: Vec<String>,
    /// The locks of its queries, in their order; one for each table.
    pub locks: Vec<Lock>,
    /// The tables that its queries use, in their order.
    pub tables: Vec<String>,
    /// The reasons why nothing moves across it; empty if something may.
    pub barriers: Vec<String>,
    /// Its cost in the objective.
    pub cost: UnitCost,
    /// True if it stands before the begin of the transaction, or behind its end.
    pub outside: bool,
}

/// The reason why a program was not reordered.
#[derive(Debug)]
pub enum Refused {
    /// There is no transaction.
    NoTransaction(NoTransaction),
    /// The transaction of this function has no query that the tool knows.
    NoQueries(String),
    /// The profile has measured no query of this function.
    NotMeasured(String),
    /// No model has queries: the user has chosen no interface.
    NoServer,
    /// The source breaks a constraint: the tool is wrong. With the function, and the constraint's
    /// reason.
    Broken(String, Broken, String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NoTransaction(error) => error.fmt(f),
            Refused::NoQueries(function) => write!(
                f,
                "`{function}` has no query that a model describes; choose its interface with \
                 --api, or write a model for its wrappers (docs/reorder-models.md)"
            ),
            Refused::NotMeasured(function) => write!(
                f,
                "the profile has no time of a query of `{function}`; instrument this source, run \
                 the program, and pass the profile that it writes"
            ),
            Refused::NoServer => {
                write!(f, "choose the database interface: --api libpq, --api mysql, --api sqlite")
            }
            Refused::Broken(function, broken, reason) => write!(
                f,
                "`{function}`: the order of the source breaks a constraint of this tool ({broken}: \
                 {reason}); this is a mistake of the tool, please report it with the source"
            ),
        }
    }
}

impl Error for Refused {}

impl From<NoTransaction> for Refused {
    fn from(error: NoTransaction) -> Refused {
        Refused::NoTransaction(error)
    }
}

/// Reorders the transactions of a program, whose source is `text`.
///
/// # Errors
/// [`Refused`]; then nothing is to be changed.
pub fn rewrite(
    program: &Program,
    text: &str,
    models: &Models,
    schema: &Schema,
    options: &Options,
) -> Result<Rewritten, Refused> {
    let summaries = Summaries::of_program(program, models);
    rewrite_with(&Source { program, text, models, schema, options }, &summaries)
}

/// Like [`rewrite`], with the summaries of the program.
pub(crate) fn rewrite_with<'s>(
    source: &Source<'s>,
    summaries: &Summaries<'s>,
) -> Result<Rewritten, Refused> {
    let Source { program, text, models, options, .. } = *source;
    let found = chosen(source, summaries)?;
    let work =
        |ordinals: &mut Ordinals, context: &Context<'_, '_, '_>, transaction: &Transaction<'_>| {
            let source = calls::Source { program, summaries, transaction };
            let calls = calls::calls(context.flow, &source, ordinals);
            let report = reorder(context, transaction, &calls, models, options)?;
            Ok((report, restructure::chunks(context.units, text)))
        };
    let reordered = map_transactions(source, summaries, &found, work)?;
    let (mut transactions, chunks): (Vec<Report>, Vec<Vec<Range>>) = reordered.into_iter().unzip();
    let left_open = left_open(source, summaries, &found);
    let lock_order = options.lock_order.then(|| lock_order::impose(&mut transactions));
    let moves: Vec<Move> = chunks
        .iter()
        .zip(&transactions)
        .filter_map(|(chunks, report)| restructure::moves(chunks, &report.solution.order, text))
        .collect();
    let edits: Vec<Edit> = moves.iter().map(|one| one.edit.clone()).collect();
    let text = source::apply(text, &edits);
    Ok(Rewritten {
        text,
        moved: Trace::of_moves(moves),
        splits: Vec::new(),
        renamings: Vec::new(),
        refusals: Vec::new(),
        unstated: Vec::new(),
        sorted: Vec::new(),
        unsorted: Vec::new(),
        left_open,
        transactions,
        lock_order,
    })
}

/// Returns the functions that begin a transaction which was not found, unless the user has said
/// where the transactions are.
fn left_open<'s>(
    source: &Source<'s>,
    summaries: &Summaries<'s>,
    found: &[Transaction<'s>],
) -> Vec<LeftOpen> {
    let Source { program, text, models, options, .. } = *source;
    if options.function.is_some() || transaction::has_markers(program) {
        return Vec::new();
    }
    transaction::left_open(program, models, summaries, found, text)
}

/// A program with all that decides on its order.
#[derive(Clone, Copy)]
pub(crate) struct Source<'s> {
    pub program: &'s Program,
    pub text: &'s str,
    pub models: &'s Models,
    pub schema: &'s Schema,
    pub options: &'s Options,
}

/// A visitor of transactions; an error ends the visit.
pub(crate) type Visit<'v> =
    dyn FnMut(&Context<'_, '_, '_>, &Summaries<'_>, &Transaction<'_>) -> Result<(), Refused> + 'v;

/// Analyses each transaction that the options choose, in the order of the source.
pub(crate) fn for_each_transaction(
    source: &Source<'_>,
    visit: &mut Visit<'_>,
) -> Result<(), Refused> {
    let summaries = Summaries::of_program(source.program, source.models);
    for_each_transaction_with(source, &summaries, visit)
}

/// Like [`for_each_transaction`], with the summaries of the program.
pub(crate) fn for_each_transaction_with<'s>(
    source: &Source<'s>,
    summaries: &Summaries<'s>,
    visit: &mut Visit<'_>,
) -> Result<(), Refused> {
    for transaction in &chosen(source, summaries)? {
        analyse(source, summaries, transaction, &mut |context| {
            visit(context, summaries, transaction)
        })?;
    }
    Ok(())
}

/// Analyses transactions, with several functions at a time. Returns the results in the order of the
/// source, or the first error in that order.
///
/// `work` has a state that the transactions of a function share.
pub(crate) fn map_transactions<'s, S: Default, R: Send, W>(
    source: &Source<'s>,
    summaries: &Summaries<'s>,
    transactions: &[Transaction<'s>],
    work: W,
) -> Result<Vec<R>, Refused>
where
    W: Fn(&mut S, &Context<'_, '_, '_>, &Transaction<'_>) -> Result<R, Refused> + Sync,
{
    // Overloaded functions have one name, and one state.
    let mut functions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, transaction) in transactions.iter().enumerate() {
        functions.entry(&transaction.function.name).or_default().push(place);
    }
    let functions: Vec<Vec<usize>> = functions.into_values().collect();
    let of_function = |places: &Vec<usize>| {
        let mut state = S::default();
        let of_transaction = |&place: &usize| {
            let transaction = &transactions[place];
            let mut work = |context: &Context<'_, '_, '_>| work(&mut state, context, transaction);
            (place, analyse(source, summaries, transaction, &mut work))
        };
        places.iter().map(of_transaction).collect::<Vec<_>>()
    };
    let mut results: Vec<(usize, Result<R, Refused>)> =
        parallel::map(&functions, &of_function).into_iter().flatten().collect();
    results.sort_by_key(|&(place, _)| place);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Returns the transactions that the options choose.
pub(crate) fn chosen<'s>(
    source: &Source<'s>,
    summaries: &Summaries<'s>,
) -> Result<Vec<Transaction<'s>>, Refused> {
    let Source { program, text, models, options, .. } = *source;
    models.server().ok_or(Refused::NoServer)?;
    Ok(transaction::find(program, models, summaries, options.function.as_deref(), text)?)
}

/// Analyses a transaction.
fn analyse<R>(
    source: &Source<'_>,
    summaries: &Summaries<'_>,
    transaction: &Transaction<'_>,
    visit: &mut dyn FnMut(&Context<'_, '_, '_>) -> Result<R, Refused>,
) -> Result<R, Refused> {
    let Source { program, text, models, schema, options } = *source;
    let server = models.server().ok_or(Refused::NoServer)?;
    let flow = Flow::of(program, models, summaries, transaction.function);
    let units = Units::of(&flow, transaction, schema, text, &program.directives);
    visit(&Context {
        program,
        text,
        flow: &flow,
        units: &units,
        schema,
        server,
        isolation: options
            .isolation
            .or_else(|| isolation::stated(&flow))
            .unwrap_or(Isolation::default_of(server)),
        relaxed_reads: options.relaxed_reads,
    })
}

fn reorder(
    context: &Context<'_, '_, '_>,
    transaction: &Transaction<'_>,
    calls: &[Call],
    models: &Models,
    options: &Options,
) -> Result<Report, Refused> {
    let function = transaction.function.name.clone();
    let units = &context.units.units;
    let has_call =
        |node: &Effects<'_>| node.queries.iter().any(|one| one.model.role == Role::Query);
    let is_known = units.iter().any(|unit| unit.queries().next().is_some());
    if !is_known && !context.flow.effects.iter().any(has_call) {
        let hidden =
            transaction::find_hidden(context.program, models, context.text, Some(&function));
        if !hidden.is_empty() {
            return Err(NoTransaction::Hidden(hidden).into());
        }
        return Err(Refused::NoQueries(function));
    }
    let constraints = legality::constraints(context, &options.without);
    let mut problem: Problem = legality::problem(units.len(), &constraints);
    let measured = costs(context, calls, &options.costing);
    let Measured { costs, unknown } = measured.ok_or(Refused::NotMeasured(function.clone()))?;
    problem.units.clone_from(&costs);
    let solution = problem.solve(Limits::default()).map_err(|broken| {
        Refused::Broken(function.clone(), broken, reason(&constraints, broken))
    })?;
    let source: Vec<usize> = (0..units.len()).collect();
    Ok(Report {
        line: transaction.statements.first().map_or(0, |one| one.range.line(context.text)),
        function,
        server: context.server,
        isolation: context.isolation,
        units: units
            .iter()
            .zip(costs)
            .map(|(unit, cost)| unit_report(context, unit, cost))
            .collect(),
        lock_order: Vec::new(),
        advice: advice::of(context),
        scale: options.costing.scale(),
        unmeasured: unknown,
        cost_before: problem.cost(&source),
        constraints,
        solution,
    })
}

/// Returns the costs of the units: measured, or estimated without a profile.
fn costs(context: &Context<'_, '_, '_>, calls: &[Call], costing: &Costing) -> Option<Measured> {
    if let Some(profile) = &costing.profile {
        let reads_lock = weights::reads_lock(context.server, context.isolation);
        return weights::measured(profile, costing, context.units, calls, reads_lock);
    }
    let objective = costing.objective;
    let locked = weights::Locked::of(context);
    let cost = |unit| weights::estimate(context, unit, objective, &locked);
    let costs = context.units.units.iter().map(cost).collect();
    Some(Measured { costs, unknown: Vec::new() })
}

/// Returns the reason of a constraint.
fn reason(constraints: &[Constraint], broken: Broken) -> String {
    let demand = match broken {
        Broken::Before(before) => Demand::Before(before),
        Broken::Outside(outside) => Demand::Outside(outside),
        Broken::NotAnOrder(_) => return String::new(),
    };
    let found = constraints.iter().find(|constraint| constraint.demand == demand);
    found.map_or(String::new(), |found| format!("{}, {}", found.rule, found.reason))
}

fn unit_report(context: &Context<'_, '_, '_>, unit: &Unit<'_>, cost: UnitCost) -> UnitReport {
    let range = unit.range();
    let end = Range::new(range.end, range.end);
    let line = range.line(context.text);
    let mut tables: Vec<String> = Vec::new();
    let mut locks: Vec<Lock> = Vec::new();
    for query in unit.queries() {
        let line = query.range.map_or(line, |range| range.line(context.text));
        let names = query.query.tables.keys().flat_map(|name| context.schema.base_tables(name));
        let locked =
            lock_order::locked(&query.query, context.schema, context.server, context.isolation);
        tables.extend(names.filter(|name| !tables.contains(name)).collect::<Vec<_>>());
        for table in locked {
            if locks.iter().all(|lock| lock.table != table) {
                locks.push(Lock { table, line });
            }
        }
    }
    UnitReport {
        range,
        lines: (line, end.line(context.text)),
        queries: unit.queries().map(|query| query.text.clone()).collect(),
        locks,
        tables,
        barriers: unit.barriers().map(ToString::to_string).collect(),
        outside: unit.barriers().any(|barrier| *barrier == Barrier::Outside),
        cost,
    }
}
