//! The SQL of statements that are prepared before they run, in another place of the program.
//!
//! A statement is found by its name, as in libpq, or by the variable or field that holds its
//! handle. A local variable is followed by its definitions. For a name, a global variable and a
//! field, all preparations of the program count.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Flow,
    access::{QueryCall, Sql},
    graph::{NodeIndex, NodeKind},
    place::{Place, Root},
    text::{self, Texts},
};
use crate::{
    api::{Returns, Role},
    ir::{Callee, Expression, ExpressionKind as Kind, Program, Scope, VariableIndex},
};

/// The name or the place by which a program knows a statement.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Handle {
    Name(String),
    Variable(VariableIndex),
    /// The field of a structure, by the structure's name and its own.
    Field(String, String),
}

/// The statements that a program prepares, each with the texts that it may have.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Prepared {
    texts: BTreeMap<Handle, Result<BTreeSet<String>, String>>,
}

impl Prepared {
    /// Adds the statements that a function prepares.
    pub(super) fn add(&mut self, flow: &Flow<'_, '_>) {
        for (node, effects) in flow.effects.iter().enumerate() {
            for query in effects.queries.iter().filter(|one| one.model.role == Role::Prepare) {
                let texts = flow.sql_of(query, node);
                for handle in handles(flow, query, node) {
                    let known = self.texts.entry(handle).or_insert(Ok(BTreeSet::new()));
                    match (&mut *known, &texts) {
                        (Ok(all), Ok(texts)) => all.extend(texts.iter().cloned()),
                        (Ok(_), Err(reason)) => *known = Err(reason.clone()),
                        (Err(_), _) => {}
                    }
                }
            }
        }
    }

    fn of(&self, handle: &Handle, program: &Program) -> Texts {
        match self.texts.get(handle) {
            Some(Ok(texts)) => Ok(texts.iter().cloned().collect()),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err(format!(
                "the file does not prepare {}; name its SQL under [statements] in a model",
                handle.describe(program)
            )),
        }
    }
}

impl Handle {
    fn describe(&self, program: &Program) -> String {
        match self {
            Handle::Name(name) => format!("the statement `{name}`"),
            Handle::Variable(variable) => {
                format!("the statement in `{}`", program.variable(*variable).name)
            }
            Handle::Field(record, name) => format!("the statement in `{name}` of `{record}`"),
        }
    }
}

/// Returns the texts of the statement that an expression names or holds.
///
/// # Errors
/// The fact that is missing.
pub(super) fn of<'a>(flow: &Flow<'a, '_>, statement: &'a Expression, node: NodeIndex) -> Texts {
    let program = flow.around.program;
    let prepared = flow.around.summaries.prepared();
    let models = flow.around.models;
    if let Ok(names) = text::of(flow, statement, node) {
        let texts = names.into_iter().map(|name| match models.statement(&name) {
            Some(sql) => Ok(vec![sql.to_owned()]),
            None => prepared.of(&Handle::Name(name), program),
        });
        return Ok(texts.collect::<Result<Vec<_>, String>>()?.concat());
    }
    if let Some(sql) = named(flow, statement) {
        return Ok(vec![sql]);
    }
    match handle(statement) {
        Some(Handle::Variable(variable)) if is_local(program, variable) => {
            of_local(flow, variable, node)
        }
        Some(handle) => prepared.of(&handle, program),
        None => Err("the statement comes from a place that is not followed".to_string()),
    }
}

/// Returns what the program knows a statement by that a query prepares.
fn handles<'a>(flow: &Flow<'a, '_>, query: &QueryCall<'a>, node: NodeIndex) -> Vec<Handle> {
    match &query.name {
        Some(Sql::Texts(names)) => names.iter().cloned().map(Handle::Name).collect(),
        Some(Sql::Expression(expression)) => match text::of(flow, expression, node) {
            Ok(names) => names.into_iter().map(Handle::Name).collect(),
            Err(_) => handle(expression).into_iter().collect(),
        },
        Some(_) => Vec::new(),
        None => result_handle(flow, node).into_iter().collect(),
    }
}

/// Returns the place that receives the result of a node's call.
fn result_handle(flow: &Flow<'_, '_>, node: NodeIndex) -> Option<Handle> {
    match flow.graph.nodes[node].kind {
        NodeKind::Declare(declaration) => Some(Handle::Variable(declaration.variable)),
        NodeKind::Evaluate(expression) => match &expression.kind {
            Kind::Assign { operator: None, target, .. } => handle(target),
            _ => None,
        },
        _ => None,
    }
}

/// Returns what an expression names that is a handle, or the address of one.
fn handle(expression: &Expression) -> Option<Handle> {
    match &expression.kind {
        Kind::Variable(variable) => Some(Handle::Variable(*variable)),
        Kind::Field { record, name, .. } => Some(Handle::Field(record.clone(), name.clone())),
        Kind::Cast(_, operand) | Kind::Address(operand) => handle(operand),
        _ => None,
    }
}

/// Returns the SQL that a model gives for a statement, by the expression that holds its handle.
fn named(flow: &Flow<'_, '_>, expression: &Expression) -> Option<String> {
    let text = written(flow.around.program, expression)?;
    flow.around.models.statement(&text).map(str::to_owned)
}

/// Returns the text of an expression that denotes a place.
fn written(program: &Program, expression: &Expression) -> Option<String> {
    let inner = |one: &Expression| written(program, one);
    Some(match &expression.kind {
        Kind::Variable(variable) => program.variable(*variable).name.clone(),
        Kind::Constant(text) => text.clone(),
        Kind::Field { base, name, .. } => match &base.kind {
            Kind::Dereference(pointer) => format!("{}->{name}", inner(pointer)?),
            _ => format!("{}.{name}", inner(base)?),
        },
        Kind::Element { base, index } => format!("{}[{}]", inner(base)?, inner(index)?),
        Kind::Dereference(pointer) => format!("*{}", inner(pointer)?),
        Kind::Cast(_, operand) => inner(operand)?,
        _ => return None,
    })
}

fn is_local(program: &Program, variable: VariableIndex) -> bool {
    matches!(program.variable(variable).scope, Scope::Local | Scope::Parameter)
}

/// Returns the preparations of a node of the statement that a variable holds, by its address, its
/// value, or the result of the call.
pub(super) fn preparations<'f, 'a>(
    flow: &'f Flow<'a, '_>,
    variable: VariableIndex,
    node: NodeIndex,
) -> impl Iterator<Item = &'f QueryCall<'a>> {
    let is_its = move |query: &&QueryCall<'a>| {
        let by_name = match &query.name {
            Some(Sql::Expression(expression)) => handle(expression),
            Some(_) => None,
            None => result_handle(flow, node),
        };
        query.model.role == Role::Prepare && by_name == Some(Handle::Variable(variable))
    };
    flow.effects[node].queries.iter().filter(is_its)
}

fn of_local(flow: &Flow<'_, '_>, variable: VariableIndex, node: NodeIndex) -> Texts {
    let missing = || {
        let name = &flow.around.program.variable(variable).name;
        format!(
            "the statement in `{name}` is not known; name its SQL under [statements] in a model"
        )
    };
    let place = Place::whole(Root::Variable(variable));
    let (mut texts, mut is_new) = (Vec::new(), false);
    for definition in flow.reaching(node, &place) {
        let definition = &flow.definitions.all[definition];
        let before = texts.len();
        for query in preparations(flow, variable, definition.node) {
            texts.extend(flow.sql_of(query, definition.node)?);
        }
        texts.extend(definition.value.and_then(|value| named(flow, value)));
        is_new |= definition.value.is_some_and(|value| makes_statement(flow, value));
        let is_empty = match definition.value {
            Some(value) => matches!(value.kind, Kind::Constant(_)) || makes_statement(flow, value),
            None => matches!(flow.graph.nodes[definition.node].kind, NodeKind::Declare(_)),
        };
        if texts.len() == before && !is_empty {
            return Err(missing());
        }
    }
    if is_new {
        // The statement was made without a text, and prepared later by way of its handle.
        for earlier in (0..flow.effects.len()).filter(|&one| flow.graph.reachable(one)[node]) {
            for query in preparations(flow, variable, earlier) {
                texts.extend(flow.sql_of(query, earlier)?);
            }
        }
    }
    if texts.is_empty() { Err(missing()) } else { Ok(texts) }
}

/// Returns true for a call that makes an object, but prepares nothing.
fn makes_statement(flow: &Flow<'_, '_>, value: &Expression) -> bool {
    let Kind::Call { callee, .. } = &value.kind else { return false };
    let model = flow.around.models.call(callee);
    let is_new = model.is_some_and(|one| one.returns == Returns::New && one.role == Role::None);
    is_new && matches!(callee, Callee::Function(_))
}
