//! The effects of the functions of the file, as seen by their callers.
//!
//! A summary is made of a function's own analysis: what it reads and writes through its parameters
//! and in global variables, its queries, its barriers. A function that calls itself has none, nor
//! have those that share a name, as overloaded functions do.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Flow,
    access::{Access, AccessKind, Bound, Effects, Fetch, NOTHING, QueryCall},
    bound,
    calls::Calls,
    escape::plain_variable,
    graph::{NodeIndex, NodeKind},
    hooks,
    paths::Outcome,
    place::{Place, Root},
    prepared::Prepared,
    test::Test,
};
use crate::{
    api::{Models, Returns, Role},
    ir::{
        Callee, Callers, Expression, ExpressionKind as Kind, Function, LeftOut, Program, Scope,
        Variable, VariableIndex,
    },
};

/// The effects of a function.
#[derive(Clone, Debug)]
pub struct Summary<'a> {
    /// True for a method: the first argument of a call is its object, and no pointer to it.
    pub method: bool,
    /// Its parameters.
    pub parameters: Vec<VariableIndex>,
    /// The effects of its nodes, in the order of the source.
    pub parts: Vec<Part<'a>>,
    /// The kind of its result.
    pub returns: Returns,
    /// The parameter into whose memory its result leads, if it may lead elsewhere than to the
    /// begin: that of `return &b->c`.
    pub returns_part_of: Option<usize>,
    /// True if its result is a new result or statement of a database interface.
    pub returns_result: bool,
    /// Of each parameter, true if the function may keep the pointer that is passed to it.
    pub keeps: Vec<bool>,
    /// Of each pair, the parameter into whose memory the function may store the value of the other.
    pub stores: Vec<(usize, usize)>,
    /// True if its result may depend on what it gets, otherwise than by the outcome of queries.
    pub tests_inputs: bool,
    /// Its results, each with what it shows about the queries; `None` if it has too many paths.
    pub(super) outcomes: Option<BTreeSet<Outcome>>,
}

/// The effects of a node of a function.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The effects that the caller can see; of parameters, what they lead to.
    pub effects: Effects<'a>,
    /// The constants of which the function returns one behind the node; `None` if it may return
    /// something else.
    pub results: Option<BTreeSet<i64>>,
}

impl Part<'_> {
    /// Returns true if a test of the function's result holds behind the node, and false if it does
    /// not; `None` if both may be.
    pub fn outcome(&self, test: &Test<'_>) -> Option<bool> {
        let results = self.results.as_ref()?;
        let holds = results.iter().any(|&result| test.holds(result));
        (holds != results.iter().any(|&result| !test.holds(result))).then_some(holds)
    }
}

impl<'a> Summary<'a> {
    /// Returns the queries, in the order of the source.
    pub fn queries(&self) -> impl Iterator<Item = &QueryCall<'a>> + '_ {
        self.parts.iter().flat_map(|part| &part.effects.queries)
    }

    /// Returns true if the function asks whether a query succeeded.
    pub fn asks_status(&self) -> bool {
        self.parts.iter().any(|part| part.effects.status)
    }
}

/// The summaries of a program's functions.
#[derive(Debug)]
pub struct Summaries<'a> {
    by_name: BTreeMap<&'a str, Result<Summary<'a>, String>>,
    /// Of each variable, true if it is written after its declaration, or its address is taken.
    assigned: Vec<bool>,
    /// The structures of which functions use a field.
    used_records: BTreeSet<&'a str>,
    /// The statements that the functions prepare.
    prepared: Prepared,
    /// The reason why each query may run code of the program.
    hook: Option<String>,
    /// The functions that register what a query may run.
    registering: BTreeSet<&'a str>,
    /// The functions that may prepare a statement or bind memory to one, directly or through
    /// others.
    preparing: BTreeSet<&'a str>,
    calls: Calls<'a>,
}

impl<'a> Summaries<'a> {
    /// Analyses the functions of a program that others call or that may prepare a statement, each
    /// after those that it calls; a second time if a function may run a statement that another one
    /// prepares.
    pub fn of_program(program: &'a Program, models: &'a Models) -> Summaries<'a> {
        let named = |is: &dyn Fn(&Function) -> bool| {
            let functions = program.functions.iter().filter(|one| is(one));
            functions.map(|one| one.name.as_str()).collect::<BTreeSet<_>>()
        };
        let calls = Calls::of_program(program);
        let preparing = named(&|one| prepares(models, one));
        let mut summaries = Summaries {
            by_name: BTreeMap::new(),
            assigned: assigned(program),
            used_records: used_records(program),
            prepared: Prepared::default(),
            hook: hooks::reason(program, models),
            registering: named(&|one| hooks::registers(program, models, one).is_some()),
            preparing: calls.leading_to(preparing.into_iter()),
            calls,
        };
        summaries.add_all(program, models);
        if summaries.prepared != Prepared::default() {
            summaries.by_name.clear();
            summaries.add_all(program, models);
        }
        summaries
    }

    /// Adds the summaries of the functions. The statements that are known at the begin are replaced
    /// by those that were found, at the end.
    fn add_all(&mut self, program: &'a Program, models: &'a Models) {
        let (mut under_way, mut prepared) = (BTreeSet::new(), Prepared::default());
        let mut names: BTreeSet<&str> = self.calls.all_called().collect();
        names.extend(&self.preparing);
        for function in &program.functions {
            if names.contains(function.name.as_str()) {
                self.add(program, models, function, &mut under_way, &mut prepared);
            }
        }
        self.prepared = prepared;
    }

    /// Returns the calls between the functions.
    pub(crate) fn calls(&self) -> &Calls<'a> {
        &self.calls
    }

    /// Returns the names of the functions whose bodies the analysis of the function `name` reads:
    /// its own, those that it calls, and those that may prepare a statement or register a hook,
    /// with all that these call.
    pub(crate) fn needed_for(&self, name: &'a str) -> BTreeSet<&'a str> {
        let lasting = self.registering.iter().chain(&self.preparing).copied();
        self.calls.needed_by(lasting.chain([name]))
    }

    /// Returns the statements that the functions prepare.
    pub(super) fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Returns the reason why each query may run code of the program.
    pub(super) fn hook(&self) -> Option<&str> {
        self.hook.as_deref()
    }

    /// Returns the structures of which functions use a field.
    pub(crate) fn used_records(&self) -> &BTreeSet<&'a str> {
        &self.used_records
    }

    /// Returns the summary of a function, or why it has none; `None` if the file does not define
    /// it.
    pub fn of(&self, name: &str) -> Option<&Result<Summary<'a>, String>> {
        self.by_name.get(name)
    }

    /// Returns true if a variable may be written after its declaration.
    pub fn is_assigned(&self, variable: VariableIndex) -> bool {
        self.assigned[variable.0]
    }

    fn add(
        &mut self,
        program: &'a Program,
        models: &'a Models,
        function: &'a Function,
        under_way: &mut BTreeSet<&'a str>,
        prepared: &mut Prepared,
    ) {
        let name = function.name.as_str();
        if self.by_name.contains_key(name) || !under_way.insert(name) {
            return;
        }
        let mut recursive = false;
        let called: Vec<&str> = self.calls.called_by(function).collect();
        for called in called {
            recursive |= under_way.contains(called);
            if let Some(called) = program.function(called)
                && models.call(&Callee::Function(called.name.clone())).is_none()
            {
                self.add(program, models, called, under_way, prepared);
            }
        }
        under_way.remove(name);
        let of_name = program.functions.iter().filter(|one| one.name == name).count();
        let summary = if of_name > 1 {
            prepared.bindings.add_unknown_of(models, function);
            Err(format!("calls `{name}`, a name that several functions have"))
        } else if recursive {
            prepared.bindings.add_unknown_of(models, function);
            Err(format!("calls `{name}`, which calls itself"))
        } else if let Some(reason) = &function.replaceable {
            prepared.bindings.add_unknown_of(models, function);
            Err(format!("calls `{name}`, which {reason}"))
        } else {
            Ok(self.summary(program, models, function, prepared))
        };
        self.by_name.insert(name, summary);
    }

    /// Returns true for a value that means the same to the caller: a parameter's, or a constant.
    fn is_kept(&self, function: &Function, value: &Expression) -> bool {
        match plain_variable(value) {
            Some(variable) => {
                function.parameters.contains(&variable) && !self.is_assigned(variable)
            }
            None => match &value.kind {
                Kind::List(values) => values.is_empty(),
                kind => matches!(kind, Kind::Constant(_)),
            },
        }
    }

    fn summary(
        &self,
        program: &'a Program,
        models: &'a Models,
        function: &'a Function,
        prepared: &mut Prepared,
    ) -> Summary<'a> {
        let flow = Flow::of(program, models, self, function);
        prepared.add(&flow);
        prepared.bindings.add(&flow, function);
        let is_seen = |place: &Place| match &place.root {
            Root::Variable(variable) => program.variable(*variable).is_lasting(),
            // What others have bound, the caller finds as well.
            Root::Object(_) | Root::Bound(_) => false,
            _ => true,
        };
        let seen = |access: &&Access| is_seen(&access.place);
        let is_named = |variable: VariableIndex| match program.variable(variable).scope {
            Scope::Local => false,
            Scope::Parameter => !self.is_assigned(variable),
            _ => true,
        };
        let always = flow.executed_always();
        let part = |node: NodeIndex| {
            let effects = &flow.effects[node];
            let accesses = effects.accesses.iter().filter(seen);
            let kept = |value: &'a Expression| match self.is_kept(function, value) {
                true => Some(value),
                // A number is no pointer.
                false => (!flow.around.is_pointer(value)).then_some(&NOTHING),
            };
            let accesses = accesses.map(|access| weakened(access, always[node], kept)).collect();
            let mut queries = flow.queries_for_callers(node, function);
            queries.iter_mut().for_each(|query| query.certain &= always[node]);
            let mut barriers = effects.barriers.clone();
            if effects.bound.iter().any(|bound| outlives(&flow, bound)) {
                let name = &function.name;
                barriers.push(format!("`{name}` binds memory to a statement that it has made"));
            }
            if matches!(flow.graph.nodes[node].kind, NodeKind::Throw(_)) {
                barriers.push(format!("`{}` may throw", function.name));
            }
            let effects = Effects {
                accesses,
                queries,
                barriers,
                asks_open: effects.asks_open.clone(),
                resets: effects.resets.iter().filter(|one| is_seen(one)).cloned().collect(),
                writes_anything: effects.writes_anything,
                asks_connection: effects.asks_connection,
                bound: effects
                    .bound
                    .iter()
                    .filter_map(|bound| for_callers(bound, always[node], &is_seen, &is_named))
                    .collect(),
                fetched: fetched_for_callers(&flow, node, &is_seen),
                status: effects.status,
                result: effects.result,
                streams: effects.streams,
                ..Effects::default()
            };
            Part { effects, results: results(&flow, node) }
        };
        let (returns, returns_part_of) = returns(&flow, function);
        Summary {
            method: function.method,
            parameters: function.parameters.clone(),
            parts: (1..flow.effects.len()).map(part).collect(),
            returns,
            returns_part_of,
            returns_result: returned(&flow).iter().all(|place| {
                matches!(place.root, Root::Object(maker) if flow.effects[maker].makes_result)
            }),
            keeps: function.parameters.iter().map(|&one| flow.is_leaked(one)).collect(),
            stores: flow.stores_between(function),
            tests_inputs: flow.tests_inputs(),
            outcomes: flow.outcomes(),
        }
    }
}

/// Returns true if a statement that a function has made and bound memory to may exist when the
/// function is over.
fn outlives(flow: &Flow<'_, '_>, bound: &Bound<'_>) -> bool {
    if bound.memory.is_empty() {
        return false;
    }
    let mut made = bound.statements.iter().filter(|one| matches!(one.root, Root::Object(_)));
    let ends = |place: &Place| {
        let mut accesses = flow.effects.iter().flat_map(|effects| &effects.accesses);
        accesses.any(|one| one.kind == AccessKind::End && one.place == *place)
    };
    made.any(|place| !ends(place))
}

/// Returns what is bound to statements of the caller. Memory of the function itself does not exist
/// any more when the caller runs them.
fn for_callers<'a>(
    bound: &Bound<'a>,
    always: bool,
    is_seen: &impl Fn(&Place) -> bool,
    is_named: &impl Fn(VariableIndex) -> bool,
) -> Option<Bound<'a>> {
    let seen = |all: &[Place]| all.iter().filter(|one| is_seen(one)).cloned().collect::<Vec<_>>();
    let (statements, memory) = (seen(&bound.statements), seen(&bound.memory));
    let certain = bound.certain && always && statements.len() == bound.statements.len();
    let handle = bound.handle.filter(|handle| plain_variable(handle).is_none_or(is_named));
    (!statements.is_empty()).then_some(Bound { statements, memory, handle, certain, ..*bound })
}

/// Returns the fetches of a node from statements that the caller can see.
fn fetched_for_callers(
    flow: &Flow<'_, '_>,
    node: NodeIndex,
    is_seen: &impl Fn(&Place) -> bool,
) -> Vec<Fetch> {
    let fetched = flow.effects[node].fetched.iter().filter(|one| is_seen(&one.statement));
    let for_caller = |one: &Fetch| {
        let is_bound = one.is_bound || bound::binds_all_columns(flow, one, node);
        Fetch { is_bound, ..one.clone() }
    };
    fetched.map(for_caller).collect()
}

/// Returns the constants of which a function returns one behind a node; `None` if it may return
/// something else.
fn results(flow: &Flow<'_, '_>, node: NodeIndex) -> Option<BTreeSet<i64>> {
    let mut behind = flow.graph.reachable(node);
    behind[node] = true;
    let ends = (0..behind.len()).filter(|&one| behind[one]);
    let ends = ends.map(|one| &flow.graph.nodes[one]).filter(|one| one.successors.is_empty());
    ends.map(|end| match end.kind {
        NodeKind::Return(Some(value)) => flow.around.program.integer(value),
        _ => None,
    })
    .collect()
}

/// Returns an access with the value that the caller may know, and weak if it may not happen.
fn weakened<'a>(
    access: &Access<'a>,
    sure: bool,
    kept: impl Fn(&'a Expression) -> Option<&'a Expression>,
) -> Access<'a> {
    let kind = match access.kind {
        AccessKind::Write | AccessKind::End if !sure => AccessKind::WeakWrite,
        kind => kind,
    };
    let value = access.value.and_then(kept);
    Access { place: access.place.clone(), kind, value }
}

/// Returns the places that the function's result may lead to.
fn returned(flow: &Flow<'_, '_>) -> BTreeSet<Place> {
    let mut places: BTreeSet<Place> = BTreeSet::new();
    for (node, point) in flow.graph.nodes.iter().enumerate() {
        if let NodeKind::Return(Some(value)) = point.kind {
            places.extend(flow.targets(value, node));
        }
    }
    places
}

/// Returns the kind of a function's result, and the parameter in whose memory it is a part.
fn returns(flow: &Flow<'_, '_>, function: &Function) -> (Returns, Option<usize>) {
    let places = returned(flow);
    let parameter = |place: &Place| match place.root {
        Root::Pointee(variable) => function.parameters.iter().position(|&one| one == variable),
        _ => None,
    };
    let Some(first) = places.first() else { return (Returns::Value, None) };
    if places.iter().all(|place| matches!(place.root, Root::Object(_))) {
        return (Returns::New, None);
    }
    match parameter(first) {
        Some(one) if places.iter().all(|place| parameter(place) == Some(one)) => {
            match places.iter().all(|place| place.path.is_empty()) {
                true => (Returns::Borrowed(one), None),
                false => (Returns::Value, Some(one)),
            }
        }
        _ => (Returns::Value, None),
    }
}

/// Returns true if a function calls what prepares a statement or binds memory to one.
fn prepares(models: &Models, function: &Function) -> bool {
    let mut found = false;
    for_each_expression(function, &mut |expression| {
        let model = match &expression.kind {
            Kind::Call { callee, .. } => models.call(callee),
            Kind::Construct(class, _) => models.construct(class),
            _ => None,
        };
        found |= model.is_some_and(|call| call.role == Role::Prepare || call.binds());
    });
    found
}

/// Calls `visit` for each expression of a function, the outer ones first.
pub(crate) fn for_each_expression<'a>(
    function: &'a Function,
    visit: &mut impl FnMut(&'a Expression),
) {
    function.body.walk(&mut |statement| {
        for expression in statement.expressions() {
            expression.walk(visit);
        }
    });
}

fn used_records(program: &Program) -> BTreeSet<&str> {
    let left_out = program.left_out.used_records.iter().map(String::as_str);
    program.functions.iter().flat_map(records_of).chain(left_out).collect()
}

/// Returns the structures of which a function uses a field.
fn records_of(function: &Function) -> BTreeSet<&str> {
    let mut used = BTreeSet::new();
    for_each_expression(function, &mut |expression| {
        if let Kind::Field { record, .. } = &expression.kind {
            used.insert(record.as_str());
        }
    });
    used
}

fn assigned(program: &Program) -> Vec<bool> {
    let is_left_out =
        |one: &Variable| one.is_lasting() && program.left_out.assigned.contains(&one.name);
    let mut assigned: Vec<bool> = program.variables.iter().map(is_left_out).collect();
    for variable in program.functions.iter().flat_map(assigned_by) {
        assigned[variable.0] = true;
    }
    assigned
}

/// Returns the variables that a function assigns or whose address it takes.
fn assigned_by(function: &Function) -> BTreeSet<VariableIndex> {
    let mut assigned = BTreeSet::new();
    for_each_expression(function, &mut |expression| {
        let (Kind::Assign { target, .. } | Kind::Increment(_, target) | Kind::Address(target)) =
            &expression.kind
        else {
            return;
        };
        if let Kind::Variable(variable) = target.kind {
            assigned.insert(variable);
        }
    });
    assigned
}

/// Returns the facts of functions that the analysis of others uses.
pub(crate) fn left_out(program: &Program, functions: &[&Function]) -> LeftOut {
    let assigned = functions.iter().flat_map(|one| assigned_by(one));
    let assigned = assigned.map(|one| program.variable(one)).filter(|one| one.is_lasting());
    let used = functions.iter().flat_map(|one| records_of(one));
    LeftOut {
        callers: Callers::default(),
        assigned: assigned.map(|one| one.name.clone()).collect(),
        used_records: used.map(str::to_owned).collect(),
    }
}
