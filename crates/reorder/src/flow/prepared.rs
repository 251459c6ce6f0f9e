//! The SQL of statements that are prepared before they run, in another place of the program.
//!
//! A statement is found by its name, as in libpq, or by the variable or field that holds its
//! handle. A local variable is followed by its definitions. For a name, a global variable and a
//! field, all preparations of the program count.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    Flow,
    access::{QueryCall, Sql, variable},
    bindings::Bindings,
    graph::{NodeIndex, NodeKind},
    place::{Place, Root, Step},
    pointers::Surroundings,
    table,
    text::{self, Texts},
};
use crate::{
    api::{Returns, Role},
    ir::{Callee, Expression, ExpressionKind as Kind, Function, Program, Scope, VariableIndex},
};

/// The name or the place by which a program knows a statement.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Handle {
    Name(String),
    Variable(VariableIndex),
    /// The field of a structure, by the structure's name and its own.
    Field(String, String),
    /// An element of an array; `None` for any of them.
    Element(Box<Handle>, Option<u64>),
}

/// The statements that a program prepares, each with the texts that it may have.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Prepared {
    texts: BTreeMap<Handle, Result<BTreeSet<String>, String>>,
    /// The memory and values that are bound to them.
    pub(super) bindings: Bindings,
}

/// The reason why a query that runs the unnamed statement is not moved.
pub(crate) const UNNAMED: &str = "it uses the unnamed statement, which each query with a text of \
                                  its own replaces; give the statement a name";

impl Prepared {
    /// Adds the statements that a function prepares.
    pub(super) fn add(&mut self, flow: &Flow<'_, '_>) {
        for (node, effects) in flow.effects.iter().enumerate() {
            for query in effects.queries.iter().filter(|one| one.model.role == Role::Prepare) {
                if let Some(of_elements) = table::texts(flow, query, node) {
                    for (handle, text) in of_elements {
                        self.insert(handle, &Ok(vec![text]));
                    }
                    continue;
                }
                let texts = flow.sql_of(query, node);
                let handles = handles(flow, query, node);
                handles.into_iter().for_each(|handle| self.insert(handle, &texts));
            }
        }
    }

    fn insert(&mut self, handle: Handle, texts: &Texts) {
        let known = self.texts.entry(handle).or_insert(Ok(BTreeSet::new()));
        match (&mut *known, texts) {
            (Ok(all), Ok(texts)) => all.extend(texts.iter().cloned()),
            (Ok(_), Err(reason)) => *known = Err(reason.clone()),
            (Err(_), _) => {}
        }
    }

    /// Returns the texts of a statement. One that is an element of an array may also have those
    /// that any element may have.
    fn of(&self, handle: &Handle, program: &Program) -> Texts {
        let of_any = match handle {
            Handle::Element(array, Some(_)) => Some(Handle::Element(array.clone(), None)),
            _ => None,
        };
        let all: Vec<_> = [Some(handle), of_any.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(|one| self.texts.get(one))
            .collect();
        if *handle == Handle::Name(String::new()) {
            return Err(UNNAMED.to_owned());
        }
        if all.is_empty() {
            return Err(format!(
                "the file does not prepare {}; name its SQL under [statements] in a model",
                handle.describe(program)
            ));
        }
        let mut texts = BTreeSet::new();
        for one in all {
            texts.extend(one.as_ref().map_err(String::clone)?.iter().cloned());
        }
        Ok(texts.into_iter().collect())
    }
}

impl Handle {
    /// Returns true for a variable of a function, which other functions do not know.
    pub(super) fn is_local(&self, program: &Program) -> bool {
        match self {
            Handle::Variable(variable) => is_local(program, *variable),
            Handle::Element(array, _) => array.is_local(program),
            Handle::Name(_) | Handle::Field(..) => false,
        }
    }

    pub(super) fn describe(&self, program: &Program) -> String {
        match self {
            Handle::Name(name) => format!("the statement `{name}`"),
            Handle::Variable(variable) => {
                format!("the statement in `{}`", program.variable(*variable).name)
            }
            Handle::Field(record, name) => format!("the statement in `{name}` of `{record}`"),
            Handle::Element(array, Some(index)) => {
                format!("{}, element {index}", array.describe(program))
            }
            Handle::Element(array, None) => format!("{}, any element", array.describe(program)),
        }
    }
}

/// Returns the texts of the statement that an expression holds which is no local variable; `None`
/// if they are not known.
pub(super) fn known_texts(
    around: Surroundings<'_, '_>,
    expression: &Expression,
) -> Option<Vec<String>> {
    let prepared = around.summaries.prepared();
    if prepared.texts.is_empty() && !around.models.has_statements() {
        return None;
    }
    if let Some(sql) = named(around, expression) {
        return Some(vec![sql]);
    }
    match handle(around.program, expression)? {
        Handle::Variable(variable) if is_local(around.program, variable) => None,
        handle => prepared.of(&handle, around.program).ok(),
    }
}

/// Returns the texts of the statement that an expression names or holds, for a query whose own
/// accesses of its node are in a range.
///
/// # Errors
/// The fact that is missing.
pub(super) fn of<'a>(
    flow: &Flow<'a, '_>,
    statement: &'a Expression,
    node: NodeIndex,
    own: &Range<usize>,
) -> Texts {
    let program = flow.around.program;
    let prepared = flow.around.summaries.prepared();
    let models = flow.around.models;
    if let Ok(names) = text::of(flow, statement, node, own) {
        let texts = names.into_iter().map(|name| match models.statement(&name) {
            Some(sql) => Ok(vec![sql.to_owned()]),
            None => prepared.of(&Handle::Name(name), program),
        });
        return Ok(texts.collect::<Result<Vec<_>, String>>()?.concat());
    }
    if let Some(sql) = named(flow.around, statement) {
        return Ok(vec![sql]);
    }
    match handle(program, statement) {
        Some(Handle::Variable(variable)) if is_local(program, variable) => {
            of_local(flow, variable, node)
        }
        Some(handle) => prepared.of(&handle, program),
        None => Err("the statement comes from a place that is not followed".to_string()),
    }
}

/// Returns true if a query may prepare the unnamed statement.
pub(crate) fn is_unnamed(flow: &Flow<'_, '_>, query: &QueryCall<'_>, node: NodeIndex) -> bool {
    handles(flow, query, node).contains(&Handle::Name(String::new()))
}

/// Returns what the program knows a statement by that a query prepares.
fn handles<'a>(flow: &Flow<'a, '_>, query: &QueryCall<'a>, node: NodeIndex) -> Vec<Handle> {
    let by_place = || stores(flow, query, node).into_iter().map(|store| store.handle).collect();
    match &query.name {
        Some(Sql::Texts(names)) => names.iter().cloned().map(Handle::Name).collect(),
        Some(Sql::Expression(expression)) => match text::of(flow, expression, node, &query.own) {
            Ok(names) => names.into_iter().map(Handle::Name).collect(),
            Err(_) => by_place(),
        },
        Some(_) => Vec::new(),
        None => by_place(),
    }
}

/// A place that holds the handle of a statement.
pub(super) struct Store<'a> {
    pub(super) handle: Handle,
    /// The expression that denotes the place.
    pub(super) place: &'a Expression,
    /// The node that stores the handle there.
    pub(super) node: NodeIndex,
}

/// Returns the places that hold the handle of the statement that a query prepares.
pub(super) fn stores<'a>(
    flow: &Flow<'a, '_>,
    query: &QueryCall<'a>,
    node: NodeIndex,
) -> Vec<Store<'a>> {
    let program = flow.around.program;
    let (place, local) = match query.name {
        Some(Sql::Expression(expression)) => (Some(expression), Some(expression)),
        Some(_) => (None, None),
        None => (result_place(flow, node), None),
    };
    let own = place.and_then(|place| Some(Store { handle: handle(program, place)?, place, node }));
    let declared = match flow.graph.nodes[node].kind {
        NodeKind::Declare(declaration) if query.name.is_none() => {
            let handle = Handle::Variable(declaration.variable);
            declaration.initial.as_ref().map(|place| Store { handle, place, node })
        }
        _ => None,
    };
    let stored = local.map_or(Vec::new(), |local| stored(flow, local, node));
    own.into_iter().chain(declared).chain(stored).collect()
}

/// Returns the places outside of the function in which it stores the handle that a local variable
/// holds at a node.
pub(super) fn stored<'a>(
    flow: &Flow<'a, '_>,
    local: &'a Expression,
    node: NodeIndex,
) -> Vec<Store<'a>> {
    let program = flow.around.program;
    let is_variable = variable(local).is_some_and(|one| is_local(program, one));
    if !is_variable || matches!(local.kind, Kind::Address(_)) {
        return Vec::new();
    }
    let prepared = flow.targets(local, node);
    let mut found = Vec::new();
    for (at, point) in flow.graph.nodes.iter().enumerate() {
        if let NodeKind::Evaluate(expression) = point.kind
            && let Kind::Assign { operator: None, target, value } = &expression.kind
            && variable(value).is_some()
            && let Some(handle) = handle(program, target)
            && !matches!(handle, Handle::Variable(variable) if is_local(program, variable))
            && flow.targets(value, at).iter().any(|place| prepared.contains(place))
        {
            found.push(Store { handle, place: target, node: at });
        }
    }
    found
}

/// Returns the place to which a node assigns the result of its call.
fn result_place<'a>(flow: &Flow<'a, '_>, node: NodeIndex) -> Option<&'a Expression> {
    match flow.graph.nodes[node].kind {
        NodeKind::Evaluate(expression) => assigned_place(expression),
        _ => None,
    }
}

fn assigned_place(expression: &Expression) -> Option<&Expression> {
    match &expression.kind {
        Kind::Assign { operator: None, target, .. } => Some(target),
        _ => None,
    }
}

/// Returns what an expression names that is a handle, or the address of one.
pub(super) fn handle(program: &Program, expression: &Expression) -> Option<Handle> {
    match &expression.kind {
        Kind::Variable(variable) => Some(Handle::Variable(*variable)),
        Kind::Field { record, name, .. } => Some(Handle::Field(record.clone(), name.clone())),
        Kind::Element { base, index } => {
            let array = Box::new(handle(program, base)?);
            Some(Handle::Element(array, program.index(index)))
        }
        Kind::Cast(_, operand) | Kind::Address(operand) => handle(program, operand),
        _ => None,
    }
}

/// Returns what a program knows a statement by which existed before the function was called.
pub(super) fn handle_of(statement: &Place) -> Option<Handle> {
    fn holder(root: &Root, path: &[Step]) -> Option<Handle> {
        match (path.split_last(), root) {
            (Some((Step::Field(record, name), _)), _) => {
                Some(Handle::Field(record.clone(), name.clone()))
            }
            (Some((Step::Element(index), array)), _) => {
                Some(Handle::Element(Box::new(holder(root, array)?), *index))
            }
            (None, Root::Variable(variable)) => Some(Handle::Variable(*variable)),
            (None, _) => None,
        }
    }
    match &statement.root {
        Root::Behind(behind) => holder(&behind.pointer.root, &behind.pointer.path),
        Root::Pointee(variable) => Some(Handle::Variable(*variable)),
        _ => None,
    }
}

/// Returns the SQL that a model gives for a statement, by the expression that holds its handle.
fn named(around: Surroundings<'_, '_>, expression: &Expression) -> Option<String> {
    if !around.models.has_statements() {
        return None;
    }
    let text = written(around.program, expression)?;
    around.models.statement(&text).map(str::to_owned)
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
            Some(Sql::Expression(expression)) => handle(flow.around.program, expression),
            Some(_) => None,
            None => match flow.graph.nodes[node].kind {
                NodeKind::Declare(declaration) => Some(Handle::Variable(declaration.variable)),
                _ => result_place(flow, node).and_then(|one| handle(flow.around.program, one)),
            },
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
        texts.extend(
            definition.value.and_then(|one| known_texts(flow.around, one)).unwrap_or_default(),
        );
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

/// Returns the parameter of a function whose text the statement has that a query runs: one that a
/// local variable of the function holds, and that the function prepares of its parameter.
///
/// **Safe because** each statement that the variable may hold at the query has the text of that
/// parameter, which neither the function nor another thing has written before it is prepared.
pub(super) fn parameter_of<'a>(
    flow: &Flow<'a, '_>,
    query: &QueryCall<'a>,
    node: NodeIndex,
    function: &Function,
) -> Option<Sql<'a>> {
    let Sql::Statement(statement) = query.sql else { return None };
    let Some(Handle::Variable(local)) = handle(flow.around.program, statement) else { return None };
    if flow.around.program.variable(local).scope != Scope::Local {
        return None;
    }
    let mut preparing: Vec<(&QueryCall<'a>, NodeIndex)> = Vec::new();
    for definition in flow.reaching(node, &Place::whole(Root::Variable(local))) {
        let definition = &flow.definitions.all[definition];
        let before = preparing.len();
        let at = definition.node;
        preparing.extend(preparations(flow, local, at).map(|query| (query, at)));
        match definition.value {
            Some(value) if makes_statement(flow, value) => {
                let earlier =
                    (0..flow.effects.len()).filter(|&one| flow.graph.reachable(one)[node]);
                preparing
                    .extend(earlier.flat_map(|at| {
                        preparations(flow, local, at).map(move |query| (query, at))
                    }));
            }
            Some(value) if matches!(value.kind, Kind::Constant(_)) => {}
            None if matches!(flow.graph.nodes[at].kind, NodeKind::Declare(_)) => {}
            _ if preparing.len() == before => return None,
            _ => {}
        }
    }
    let mut numbers = BTreeSet::new();
    for (query, at) in preparing {
        match flow.parameter_of(&query.sql, function) {
            Some(Sql::Parameter { number, statement: false })
                if matches!(query.sql, Sql::Expression(_)) && !flow.changes_text(query, at) =>
            {
                numbers.insert(number);
            }
            _ => return None,
        }
    }
    let mut numbers = numbers.into_iter();
    let number = numbers.next().filter(|_| numbers.next().is_none())?;
    Some(Sql::Parameter { number, statement: false })
}

/// Returns true for a call that makes an object, but prepares nothing.
fn makes_statement(flow: &Flow<'_, '_>, value: &Expression) -> bool {
    let Kind::Call { callee, .. } = &value.kind else { return false };
    let model = flow.around.models.call(callee);
    let is_new = model.is_some_and(|one| one.returns == Returns::New && one.role == Role::None);
    is_new && matches!(callee, Callee::Function(_))
}
