//! Finds the transactions of a program.
//!
//! A transaction is the code between `BEGIN_TRANSACTION` and `END_TRANSACTION`, the body of a
//! function that the user names, or a list of statements that begins and commits a transaction by
//! queries.

mod hidden;

use std::{collections::BTreeSet, fmt, ops::RangeInclusive};

pub(crate) use self::hidden::find as find_hidden;
pub use self::hidden::{Form, Hidden};

use crate::{
    api::{Models, Role},
    flow::{
        Flow,
        pointers::Surroundings,
        summary::{Summaries, for_each_expression},
        test,
    },
    ir::{
        Callee, Expression, ExpressionKind, Function, LoopForm, MacroUse, Program, Statement,
        StatementKind, Type,
    },
    parallel,
    source::Range,
};

/// The code of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Transaction<'a> {
    /// The function.
    pub function: &'a Function,
    /// The list of statements with the transaction.
    pub statements: &'a [Statement],
    /// The part of the list that is the transaction; the statements outside of it do not move.
    pub range: Range,
}

/// No transaction was found, or not the one that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoTransaction {
    /// The file defines no function of that name.
    NoFunction(String),
    /// A marker stands without its counterpart, or not in the same list of statements; with the
    /// line.
    Unpaired(usize),
    /// No markers, and no function begins and commits a transaction.
    NotFound {
        /// The functions without a model that may do so: those that get a connection.
        unknown: Vec<String>,
        /// The functions that only begin one.
        open: Vec<LeftOpen>,
        /// The code with queries that the tool does not look into.
        hidden: Vec<Hidden>,
    },
    /// The tool does not look into the code with the transaction.
    Hidden(Vec<Hidden>),
}

/// A function that begins a transaction, where no statement of the same list commits it, or that
/// may begin one by a call which is not followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOpen {
    /// The name.
    pub function: String,
    /// The reason why it is named.
    pub begin: OpenBegin,
}

/// The begin of a transaction in a function that is left open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpenBegin {
    /// By a query or call that is one.
    Certain,
    /// Perhaps by a query whose SQL is not known: the line of the first one.
    UnknownSql(usize),
    /// Perhaps by a call that is not followed.
    Unfollowed(Unfollowed),
}

/// A call that may begin a transaction or run queries in a way that the tool does not follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfollowed {
    /// The line.
    pub line: usize,
    /// The text of the call.
    pub text: String,
    /// The reason, and what to do.
    pub remedy: String,
}

impl fmt::Display for LeftOpen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.function;
        match &self.begin {
            OpenBegin::Certain => write!(
                f,
                "`{name}` begins a transaction, but no statement of the same list commits it: if \
                 the whole function is one, pass --function {name}"
            ),
            OpenBegin::UnknownSql(line) => write!(
                f,
                "`{name}` may begin a transaction, but the SQL of its queries is not known (line \
                 {line}): write the texts where the queries run, or pass --function {name}"
            ),
            OpenBegin::Unfollowed(Unfollowed { line, text, remedy }) => {
                write!(f, "line {line}: `{text}` {remedy}")
            }
        }
    }
}

impl fmt::Display for NoTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoTransaction::NoFunction(name) => {
                write!(f, "the file defines no function `{name}`; pass the name of one it defines")
            }
            NoTransaction::Unpaired(line) => write!(
                f,
                "line {line}: {BEGIN} and {END} must stand in the same list of statements"
            ),
            NoTransaction::Hidden(hidden) => {
                let all: Vec<String> = hidden.iter().map(ToString::to_string).collect();
                f.write_str(&all.join("; "))
            }
            NoTransaction::NotFound { unknown, open, hidden } => {
                write!(
                    f,
                    "no transaction found: put {BEGIN} and {END} around one \
                     (clearway_transaction.h defines them), or pass --function NAME"
                )?;
                open.iter().try_for_each(|one| write!(f, "; {one}"))?;
                hidden.iter().take(HIDDEN_MAX).try_for_each(|one| write!(f, "; {one}"))?;
                if unknown.is_empty() {
                    return Ok(());
                }
                let names: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
                write!(
                    f,
                    "; no model describes {}: if they begin or commit, write one \
                     (docs/reorder-models.md)",
                    names.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for NoTransaction {}

/// The number of places with hidden queries that a message names.
const HIDDEN_MAX: usize = 4;

const BEGIN: &str = "BEGIN_TRANSACTION";
const END: &str = "END_TRANSACTION";

/// Finds the transactions: in the named function, or in all.
///
/// # Errors
/// [`NoTransaction`] if there is none.
pub fn find<'a>(
    program: &'a Program,
    models: &'a Models,
    summaries: &Summaries<'a>,
    name: Option<&str>,
    text: &str,
) -> Result<Vec<Transaction<'a>>, NoTransaction> {
    let marked = marked(program, text).map_err(|wrong| unread(program, models, text, wrong))?;
    if let Some(name) = name {
        let function = program.function(name);
        let function = function.ok_or_else(|| NoTransaction::NoFunction(name.to_string()))?;
        let of_function: Vec<_> = marked
            .into_iter()
            .filter(|transaction| transaction.function.range == function.range)
            .collect();
        if !of_function.is_empty() {
            return Ok(of_function);
        }
        return Ok(vec![
            recognised(program, models, summaries, function).unwrap_or(body(function)),
        ]);
    }
    if !marked.is_empty() {
        return Ok(marked);
    }
    let recognised = |function: &&'a Function| recognised(program, models, summaries, function);
    let functions: Vec<&Function> = program.functions.iter().collect();
    let found: Vec<_> = parallel::map(&functions, &recognised).into_iter().flatten().collect();
    if found.is_empty() {
        return Err(NoTransaction::NotFound {
            unknown: unknown_calls(program, models, summaries),
            open: left_open(program, models, summaries, &found, text),
            hidden: hidden::find(program, models, text, None),
        });
    }
    Ok(found)
}

/// Returns the functions that begin a transaction and run a query, or run several queries whose SQL
/// is not known, but are none of the found transactions, nor called by the program's own functions;
/// and those outside of the found transactions that call what has a remedy in its model.
pub(crate) fn left_open<'a>(
    program: &'a Program,
    models: &'a Models,
    summaries: &Summaries<'a>,
    found: &[Transaction<'a>],
    text: &str,
) -> Vec<LeftOpen> {
    let mut called = BTreeSet::new();
    for function in &program.functions {
        for_each_expression(function, &mut |expression| {
            if let ExpressionKind::Call { callee: Callee::Function(name), .. } = &expression.kind {
                called.insert(name.as_str());
            }
        });
    }
    let is_found = |one: &Function| found.iter().any(|known| known.function.range == one.range);
    let rest = program.functions.iter().filter(|one| !is_found(one));
    let open = rest.filter_map(|function| {
        let begin = match unfollowed(models, function, text) {
            Some(call) => OpenBegin::Unfollowed(call),
            None if called.contains(function.name.as_str()) => return None,
            None => begin_of(program, models, summaries, function, text)?,
        };
        Some(LeftOpen { function: function.name.clone(), begin })
    });
    open.collect()
}

/// Returns the begin of a transaction in a function that runs a query, which may be none.
fn begin_of<'a>(
    program: &'a Program,
    models: &'a Models,
    summaries: &Summaries<'a>,
    function: &'a Function,
    text: &str,
) -> Option<OpenBegin> {
    let flow = Flow::of(program, models, summaries, function);
    let has = |role| has_role(&flow, &function.body, role);
    let begin = match has(Role::Begin) {
        true => OpenBegin::Certain,
        false => OpenBegin::UnknownSql(unknown_queries(&flow, function)?.line(text)),
    };
    has(Role::Query).then_some(begin)
}

/// Returns the first query whose SQL is not known, of a function that has several.
fn unknown_queries(flow: &Flow<'_, '_>, function: &Function) -> Option<Range> {
    let mut nodes = flow.graph.within(function.body.range).filter(|&node| {
        flow.effects[node].queries.iter().any(|query| flow.has_unknown_text(query, node))
    });
    let first = nodes.next().filter(|_| nodes.next().is_some())?;
    Some(flow.graph.nodes[first].range)
}

/// Returns the first call of a function that has a remedy in its model.
fn unfollowed(models: &Models, function: &Function, text: &str) -> Option<Unfollowed> {
    let mut first = None;
    for_each_expression(function, &mut |expression| {
        if let ExpressionKind::Call { callee, .. } = &expression.kind
            && let Some(remedy) = models.call(callee).and_then(|call| call.remedy.clone())
            && let Some(range) = expression.range
            && first.as_ref().is_none_or(|one: &Unfollowed| range.line(text) < one.line)
        {
            let (line, text) = (range.line(text), range.of(text).to_owned());
            first = Some(Unfollowed { line, text, remedy });
        }
    });
    first
}

/// The number of functions that a message names.
const NAMED_MAX: usize = 8;

/// Returns the functions without a model that get a connection: an argument of a type that a call
/// with a model has as its connection. If there is no such call, those that get any pointer.
fn unknown_calls(program: &Program, models: &Models, summaries: &Summaries<'_>) -> Vec<String> {
    let around = Surroundings { program, models, summaries };
    let mut calls = Vec::new();
    for function in &program.functions {
        for_each_expression(function, &mut |expression| {
            if let ExpressionKind::Call { callee, arguments, .. } = &expression.kind {
                calls.push((callee, arguments));
            }
        });
    }
    let connection = |(callee, arguments): &(&Callee, &Vec<Expression>)| {
        around.type_of(arguments.get(models.call(callee)?.connection?)?).cloned()
    };
    let types: Vec<Type> = calls.iter().filter_map(connection).collect();
    let mut names: Vec<String> = Vec::new();
    for (callee, arguments) in calls {
        let name = match callee {
            Callee::Function(name) if program.function(name).is_none() => name,
            Callee::Field(name) => name,
            _ => continue,
        };
        let gets_it = arguments
            .iter()
            .filter_map(|one| around.type_of(one))
            .any(|ty| types.contains(ty) || types.is_empty() && matches!(ty, Type::Pointer { .. }));
        if gets_it && models.call(callee).is_none() && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names.truncate(NAMED_MAX);
    names
}

/// Returns the functions with transactions, in the order of the source: each with its name, and
/// true if it begins a transaction itself, so that it is not called within one.
///
/// # Errors
/// [`NoTransaction`] if there is none.
pub fn functions(
    program: &Program,
    models: &Models,
    name: Option<&str>,
    text: &str,
) -> Result<Vec<(String, bool)>, NoTransaction> {
    let summaries = Summaries::of_program(program, models);
    let mut functions: Vec<(String, bool)> = Vec::new();
    for transaction in find(program, models, &summaries, name, text)? {
        let function = transaction.function;
        if functions.iter().all(|(known, _)| *known != function.name) {
            let flow = Flow::of(program, models, &summaries, function);
            let begins = has_role(&flow, &function.body, Role::Begin);
            functions.push((function.name.clone(), begins));
        }
    }
    Ok(functions)
}

fn body(function: &Function) -> Transaction<'_> {
    let StatementKind::Block(statements) = &function.body.kind else {
        unreachable!("the body of a function is a block")
    };
    Transaction { function, statements, range: function.body.range }
}

fn markers(program: &Program) -> impl Iterator<Item = &MacroUse> {
    program.macros.iter().filter(|used| used.name == BEGIN || used.name == END)
}

/// Returns true if markers say where the transactions are.
pub(crate) fn has_markers(program: &Program) -> bool {
    markers(program).next().is_some()
}

/// Returns the transactions between markers.
fn marked<'a>(program: &'a Program, text: &str) -> Result<Vec<Transaction<'a>>, NoTransaction> {
    let mut found = Vec::new();
    let mut begin: Option<Range> = None;
    for marker in markers(program) {
        let unpaired = NoTransaction::Unpaired(marker.range.line(text));
        match (marker.name == BEGIN, begin) {
            (true, None) => begin = Some(marker.range),
            (false, Some(first)) => {
                let range = Range::new(first.end, marker.range.start);
                found.push(enclosing(program, range).ok_or(unpaired)?);
                begin = None;
            }
            _ => return Err(unpaired),
        }
    }
    match begin {
        Some(open) => Err(NoTransaction::Unpaired(open.line(text))),
        None => Ok(found),
    }
}

/// Returns the error of markers that stand in code which the tool does not look into, or else the
/// given one.
fn unread(program: &Program, models: &Models, text: &str, wrong: NoTransaction) -> NoTransaction {
    let NoTransaction::Unpaired(line) = wrong else { return wrong };
    let marker = markers(program).find(|one| one.range.line(text) == line);
    let around = |one: &&Function| marker.is_some_and(|at| one.body.range.contains(at.range));
    let Some(function) = program.functions.iter().find(around) else { return wrong };
    let hidden = hidden::find(program, models, text, Some(&function.name));
    if hidden.is_empty() { wrong } else { NoTransaction::Hidden(hidden) }
}

/// Returns the list of statements that both ends of a range stand in.
fn enclosing(program: &Program, range: Range) -> Option<Transaction<'_>> {
    let function = program.functions.iter().find(|one| one.body.range.contains(range))?;
    let mut innermost = None;
    function.body.walk(&mut |statement| {
        if let StatementKind::Block(statements) = &statement.kind
            && statement.range.contains(range)
        {
            innermost = Some(statements);
        }
    });
    let statements = innermost?;
    let torn = |one: &Statement| {
        !range.contains(one.range) && one.range.start < range.end && range.start < one.range.end
    };
    (!statements.iter().any(torn)).then_some(Transaction { function, statements, range })
}

/// Returns the list of statements of a function that begins and commits a transaction.
fn recognised<'a>(
    program: &'a Program,
    models: &'a Models,
    summaries: &Summaries<'a>,
    function: &'a Function,
) -> Option<Transaction<'a>> {
    let flow = Flow::of(program, models, summaries, function);
    let mut found = None;
    function.body.walk(&mut |statement| {
        if let StatementKind::Block(statements) = &statement.kind {
            let place = |role| statements.iter().position(|one| has_role(&flow, one, role));
            let end = statements.iter().rposition(|one| may_commit(&flow, one));
            // A list of which a part commits first and then begins is not one transaction.
            if let Some(begin) = place(Role::Begin)
                && end.is_some_and(|end| begin < end)
                && found.is_none()
            {
                let end = end.unwrap_or(begin);
                let whole = Transaction { function, statements, range: statement.range };
                found = Some(inner(&flow, whole, begin + 1..=end));
            }
        }
    });
    found
}

/// Returns true if a statement commits, or commits or rolls back as a condition decides.
fn may_commit(flow: &Flow<'_, '_>, statement: &Statement) -> bool {
    flow.graph.within(statement.range).any(|node| {
        let mut queries = flow.effects[node].queries.iter();
        queries.any(|query| flow.may_have_role(query, node, Role::Commit))
    })
}

/// Returns the list in which the queries of a transaction stand: that of a `do … while (0)`, left
/// by `break`, if no statement beside it has queries.
fn inner<'a>(
    flow: &Flow<'a, '_>,
    whole: Transaction<'a>,
    places: RangeInclusive<usize>,
) -> Transaction<'a> {
    let statements = &whole.statements[places];
    let mut with_queries = statements.iter().filter(|one| has_role(flow, one, Role::Query));
    let (Some(only), None) = (with_queries.next(), with_queries.next()) else { return whole };
    match &only.kind {
        StatementKind::Loop {
            form: LoopForm::DoWhile, condition: Some(condition), body, ..
        } if test::integer(condition) == Some(0) => {
            let StatementKind::Block(statements) = &body.kind else { return whole };
            let places = 0..=statements.len().saturating_sub(1);
            let inside = Transaction { statements, range: body.range, ..whole };
            if statements.is_empty() { whole } else { inner(flow, inside, places) }
        }
        _ => whole,
    }
}

fn has_role(flow: &Flow<'_, '_>, statement: &Statement, role: Role) -> bool {
    flow.graph.within(statement.range).any(|node| {
        flow.effects[node].queries.iter().any(|query| flow.role_of(query, node) == role)
    })
}
