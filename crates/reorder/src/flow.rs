//! Data flow of a function: what each point reads and writes, and which writes reach it.
//!
//! It is computed in passes. The first pass knows only the accesses that need no pointer; from its
//! definitions follows where the local pointers lead at each point; the second pass knows all
//! accesses, with those of memory that is bound to statements. A pointer variable that may itself
//! be written through a pointer leads anywhere.
//!
//! A pointer in the caller's memory may be written through any pointer. If the function follows
//! one, passes go on until one gives the same accesses as the pass before it. The result is then
//! right by induction on the steps of an execution: each step reads the pointers that the writes
//! before it have left, and the accesses of the pass have these writes. If that takes too many
//! passes, pointers in the caller's memory lead anywhere.

pub mod access;
mod bindings;
mod bound;
pub(crate) mod callers;
pub(crate) mod calls;
pub(crate) mod cleanup;
pub(crate) mod connection;
mod effects;
mod escape;
mod failure;
pub mod graph;
mod guard;
mod hooks;
pub(crate) mod inputs;
mod known;
mod live;
mod made;
mod number;
pub(crate) mod parameter;
pub(crate) mod paths;
pub mod place;
pub(crate) mod pointers;
pub(crate) mod prepared;
pub mod reaching;
pub mod summary;
mod table;
pub mod test;
mod text;

use std::{
    cell::{Cell, RefCell},
    ops::Range,
    rc::Rc,
};

use self::{
    access::{Access, AccessKind, Connection, Effects, Evaluation, QueryCall, Sql},
    escape::Addresses,
    graph::{Graph, NodeIndex, NodeKind},
    known::Known,
    place::{Aliases, Behind, Place, Root, Step},
    pointers::{Pointers, Surroundings},
    reaching::{DefinitionIndex, Definitions},
    summary::{Summaries, Summary},
};
use crate::{
    api::{Models, Role, Server},
    ir::{Callee, Expression, ExpressionKind, Function, Program, Scope, Type, VariableIndex},
};

/// The passes after which pointers in the caller's memory are no longer followed.
const MOST_PASSES: usize = 8;

/// The pointers to pass from a variable to a place that is named by them, at most.
const MOST_LOADS: usize = 3;

/// The node that writes what exists before the call.
const ENTRY: NodeIndex = 0;

/// The data flow of a function.
pub struct Flow<'a, 'p> {
    /// The name of the function.
    name: &'a str,
    /// The control flow.
    pub graph: Graph<'a>,
    /// The effects of each node. The entry writes everything that exists before the call.
    pub effects: Vec<Effects<'a>>,
    /// The writes, and where they reach.
    pub definitions: Definitions<'a>,
    around: Surroundings<'a, 'p>,
    addresses: Addresses,
    aliases: Aliases<'a, 'p>,
    /// Of each node, true if a call that may have written anything may have come before it.
    behind_barrier: Vec<bool>,
    /// True if pointers in the caller's memory are followed.
    follows_memory: bool,
    /// True if one was followed.
    has_followed_memory: Cell<bool>,
    known: Known,
}

impl<'a, 'p> Flow<'a, 'p> {
    /// Analyses a function.
    pub fn of(
        program: &'a Program,
        models: &'a Models,
        summaries: &'p Summaries<'a>,
        function: &'a Function,
    ) -> Flow<'a, 'p> {
        let around = Surroundings { program, models, summaries };
        let graph = Graph::of(&function.body, program);
        let addresses = escape::addresses(program, &graph, models, summaries);
        let aliases = Aliases::new(program, &addresses, summaries);
        let entry = entry(program, function);
        let effects = effects(&graph, around, &entry, &mut |_| NoPointers);
        let definitions = Definitions::of(&graph, &effects);
        let behind_barrier = behind_barriers(&graph, &effects);
        let mut flow = Flow {
            name: &function.name,
            graph,
            effects,
            definitions,
            around,
            addresses,
            aliases,
            behind_barrier,
            follows_memory: true,
            has_followed_memory: Cell::new(false),
            known: Known::default(),
        };
        if !flow.complete(&entry) {
            flow.follows_memory = false;
            flow.effects = self::effects(&flow.graph, around, &entry, &mut |_| NoPointers);
            flow.definitions = Definitions::of(&flow.graph, &flow.effects);
            flow.complete(&entry);
        }
        flow.refine_last_writes();
        flow
    }

    /// Finds all accesses, in passes. Returns false if the passes do not come to an end.
    fn complete(&mut self, entry: &Effects<'a>) -> bool {
        for _ in 0..MOST_PASSES {
            let effects = effects_with(self, entry);
            let before = std::mem::replace(&mut self.effects, effects);
            let found = bound::accesses(self);
            self.add_bound(found);
            self.definitions = Definitions::of(&self.graph, &self.effects);
            let is_over = !self.has_followed_memory.get() || !self.follows_memory;
            if is_over || same_accesses(&before, &self.effects) {
                return true;
            }
        }
        false
    }

    /// Adds the reads and writes of bound memory: a query reads it first, and a fetch writes it
    /// last.
    fn add_bound(&mut self, found: Vec<(NodeIndex, Access<'a>)>) {
        for (node, access) in found {
            let Effects { accesses, queries, .. } = &mut self.effects[node];
            let at = if access.kind == AccessKind::Read { 0 } else { accesses.len() };
            accesses.insert(at, access);
            if at == 0 {
                let behind = |own: &Range<usize>| own.start + 1..own.end + 1;
                queries.iter_mut().for_each(|query| query.own = behind(&query.own));
            }
        }
    }

    /// Separates, where the function asks for the last write of the connection, the queries that
    /// leave it as it was from those that certainly write it.
    fn refine_last_writes(&mut self) {
        let is_last = |access: &Access<'_>| access.place.root == Root::LastWrite;
        let asks = |one: &Effects<'_>| {
            one.accesses.iter().any(|one| is_last(one) && one.kind == AccessKind::Read)
        };
        if !self.effects.iter().skip(1).any(asks) {
            return;
        }
        let last = Place::whole(Root::Last);
        for node in 1..self.effects.len() {
            let [query] = &self.effects[node].queries[..] else { continue };
            let texts = self.sql_of(query, node).unwrap_or_default();
            let Effects { accesses, queries, .. } = &mut self.effects[node];
            let is_sure =
                accesses.iter().any(|one| one.place == last && one.kind == AccessKind::Write);
            if !texts.is_empty() && texts.iter().all(|text| text::only_reads(text)) {
                let kept = |to: usize| accesses[..to].iter().filter(|one| !is_last(one)).count();
                queries[0].own = kept(queries[0].own.start)..kept(queries[0].own.end);
                accesses.retain(|access| !is_last(access));
            } else if is_sure && !texts.is_empty() && texts.iter().all(|text| text::inserts(text)) {
                let last = accesses.iter_mut().filter(|access| is_last(access));
                last.for_each(|access| access.kind = AccessKind::Write);
            }
        }
        self.definitions = Definitions::of(&self.graph, &self.effects);
    }

    /// Returns true if two places may have bytes in common.
    pub fn may_share(&self, a: &Place, b: &Place) -> bool {
        self.aliases.may_share(a, b)
    }

    /// Returns true if the address of a variable escapes.
    pub fn is_escaped(&self, variable: VariableIndex) -> bool {
        self.addresses.escaped[variable.0]
    }

    /// Returns true if the address of a variable escapes, or an address in its value.
    pub fn is_leaked(&self, variable: VariableIndex) -> bool {
        self.is_escaped(variable) || self.addresses.leaked[variable.0]
    }

    /// Returns the pairs of parameters of which the function may store the value of the second in
    /// the memory that the first leads to.
    fn stores_between(&self, function: &Function) -> Vec<(usize, usize)> {
        let number =
            |variable| function.parameters.iter().position(|&parameter| parameter == variable);
        let pairs = self.addresses.stores.iter();
        pairs.filter_map(|&(into, value)| Some((number(into)?, number(value)?))).collect()
    }

    /// Returns true if code outside of the function may see a variable.
    pub fn may_be_seen_by_caller(&self, variable: VariableIndex) -> bool {
        self.is_escaped(variable) || self.around.program.variable(variable).is_lasting()
    }

    /// Returns true for a variable that exists before the function is called, and that others know.
    fn is_outer(&self, variable: VariableIndex) -> bool {
        self.around.program.variable(variable).is_lasting()
    }

    /// Returns the definitions of a place, or of what shares bytes with it, that reach the begin of
    /// a node.
    pub fn reaching(&self, node: NodeIndex, place: &Place) -> Vec<DefinitionIndex> {
        let shares = |other: &Place| self.may_share(other, place);
        self.definitions.reaching_always(node, place, shares).to_vec()
    }

    /// The same along the steps of control, from one node to the next, for which `follows` is true.
    pub fn reaching_by(
        &self,
        node: NodeIndex,
        place: &Place,
        follows: impl Fn(NodeIndex, NodeIndex) -> bool,
    ) -> Vec<DefinitionIndex> {
        let shares = |other: &Place| self.may_share(other, place);
        self.definitions.reaching(node, place, shares, follows)
    }

    /// Returns the reads of a node that see a write of another node, or of the node's own last
    /// execution.
    pub fn exposed_reads(&self, node: NodeIndex) -> Vec<&Place> {
        let accesses = &self.effects[node].accesses;
        let is_exposed = |(at, access): &(usize, &Access<'a>)| {
            access.kind == AccessKind::Read
                && !accesses[..*at].iter().any(|earlier| {
                    earlier.kind == AccessKind::Write && earlier.place.covers(&access.place)
                })
        };
        let exposed = accesses.iter().enumerate().filter(is_exposed);
        exposed.map(|(_, access)| &access.place).collect()
    }

    /// Returns true if a node may end the run of a statement, so that it can run again.
    pub(crate) fn resets(&self, node: NodeIndex, statement: &Place) -> bool {
        self.effects[node].resets.iter().any(|one| self.may_share(one, statement))
    }

    /// Returns the expression that a node evaluates, if it has one.
    pub(crate) fn expression_of(&self, node: NodeIndex) -> Option<&'a Expression> {
        match self.graph.nodes[node].kind {
            NodeKind::Evaluate(expression) => Some(expression),
            NodeKind::Declare(declaration) => declaration.initial.as_ref(),
            NodeKind::Return(value) | NodeKind::Throw(value) => value,
            NodeKind::Nothing | NodeKind::Opaque(_) | NodeKind::Outcome { .. } => None,
        }
    }

    /// Returns the places that a pointer may lead to at a node.
    pub fn targets(&self, pointer: &'a Expression, node: NodeIndex) -> Vec<Place> {
        self.around.targets(pointer, &Resolver::at(self, node), node)
    }

    /// Returns the places that the pointers in a place lead to behind a node.
    pub fn led_to_at(&self, place: &Place, node: NodeIndex) -> Vec<Place> {
        Resolver::at(self, node).led_to(place)
    }

    /// Returns the server that the queries go to.
    pub fn server(&self) -> Option<Server> {
        self.around.models.server()
    }

    /// Returns true if the server rolls back when a query fails.
    pub fn failure_aborts(&self) -> bool {
        self.around.models.failure_aborts()
    }

    /// Returns true if a call only asks whether a query succeeded.
    pub fn is_status(&self, callee: &Callee) -> bool {
        let summarised = match callee {
            Callee::Function(name) => self
                .around
                .summaries
                .of(name)
                .is_some_and(|one| one.as_ref().is_ok_and(Summary::asks_status)),
            _ => false,
        };
        summarised || self.around.models.call(callee).is_some_and(|call| call.status)
    }

    /// Returns true if a call uses a prepared statement.
    pub fn uses_statement(&self, callee: &Callee) -> bool {
        self.around.models.call(callee).is_some_and(|call| call.statement.is_some())
    }

    /// Returns true for a call that a model describes.
    pub(crate) fn has_model(&self, call: &Expression) -> bool {
        match &call.kind {
            ExpressionKind::Call { callee, .. } => self.around.models.call(callee).is_some(),
            _ => false,
        }
    }

    /// Returns true if a function belongs to the database interface, or only runs queries.
    pub fn is_of_database(&self, callee: &Callee) -> bool {
        if let Some(model) = self.around.models.call(callee) {
            return model.role != Role::None || model.status || model.statement.is_some();
        }
        let Callee::Function(name) = callee else { return false };
        let summary = self.around.summaries.of(name).and_then(|one| one.as_ref().ok());
        summary.is_some_and(|summary| summary.queries().next().is_some())
    }

    /// Returns what a call does with the database: what its SQL says, if it runs an SQL text.
    pub fn role_of(&self, query: &QueryCall<'a>, node: NodeIndex) -> Role {
        let roles = self.roles_of(query, node);
        match &roles[..] {
            [first, rest @ ..] if rest.iter().all(|role| role == first) => *first,
            _ => Role::Query,
        }
    }

    /// Returns true if a call may have a role: of the SQL texts that it may run, one has it.
    pub(crate) fn may_have_role(&self, query: &QueryCall<'a>, node: NodeIndex, role: Role) -> bool {
        self.roles_of(query, node).contains(&role)
    }

    /// Returns true if a call runs an SQL text that is not known.
    pub(crate) fn has_unknown_text(&self, query: &QueryCall<'a>, node: NodeIndex) -> bool {
        self.roles_of(query, node).is_empty()
    }

    /// Returns the roles of the SQL texts that a call may run, or of a call that runs none.
    fn roles_of(&self, query: &QueryCall<'a>, node: NodeIndex) -> Vec<Role> {
        if query.model.role != Role::Query {
            return vec![query.model.role];
        }
        self.roles_of_texts(&query.sql, node, &query.own)
    }

    /// Returns, for each node, true if every execution of the function that ends passes it.
    pub fn executed_always(&self) -> Vec<bool> {
        (0..self.graph.nodes.len()).map(|node| !self.has_path_around(node)).collect()
    }

    fn has_path_around(&self, avoided: NodeIndex) -> bool {
        let mut seen = vec![false; self.graph.nodes.len()];
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            if node == avoided || std::mem::replace(&mut seen[node], true) {
                continue;
            }
            if self.graph.nodes[node].successors.is_empty() {
                return true;
            }
            open.extend(&self.graph.nodes[node].successors);
        }
        false
    }

    /// Returns the queries of a node, each with its SQL as far as a caller can see it.
    fn queries_for_callers(&self, node: NodeIndex, function: &Function) -> Vec<QueryCall<'a>> {
        let for_caller = |query: &QueryCall<'a>| {
            let parameter = self.parameter_of(&query.sql, function);
            let parameter = parameter.filter(|_| !self.changes_text(query, node));
            let parameter = parameter.or_else(|| self.text_of_parameter(query, node, function));
            let parameter =
                parameter.or_else(|| prepared::parameter_of(self, query, node, function));
            let sql = match (self.sql_of(query, node), parameter) {
                (_, Some(sql)) => sql,
                (Ok(texts), None) => Sql::Texts(texts),
                (Err(reason), None) => Sql::Missing(reason),
            };
            let name = query.name.as_ref().filter(|name| !self.returns_handle(name, node));
            let name = name.map(|name| {
                let known =
                    || self.texts_of(name, node, &query.own).map_or_else(Sql::Missing, Sql::Texts);
                let parameter = self.parameter_of(name, function);
                parameter.or_else(|| self.behind_parameter(name, function)).unwrap_or_else(known)
            });
            let connection = match query.connection {
                Connection::Argument(argument) => self.connection_for_callers(argument, function),
                connection => connection,
            };
            let is_bound = bound::binds_all(self, query, node);
            QueryCall { sql, name, connection, is_bound, ..query.clone() }
        };
        self.effects[node].queries.iter().map(for_caller).collect()
    }

    fn connection_for_callers(&self, argument: &'a Expression, f: &Function) -> Connection<'a> {
        let Some(variable) = access::variable(argument) else { return Connection::Hidden };
        let is_fixed = !self.around.summaries.is_assigned(variable);
        let number = f.parameters.iter().position(|&one| one == variable);
        match number {
            Some(number) if is_fixed => Connection::Parameter(number),
            None if self.around.program.variable(variable).is_lasting() => {
                Connection::Argument(argument)
            }
            _ => Connection::Hidden,
        }
    }

    /// Returns the parameter of the function that an SQL text or a statement is.
    fn parameter_of(&self, sql: &Sql<'a>, function: &Function) -> Option<Sql<'a>> {
        let (Sql::Expression(expression) | Sql::Statement(expression)) = sql else { return None };
        let variable = access::variable(expression)?;
        let is_fixed = !self.around.summaries.is_assigned(variable);
        let number = function.parameters.iter().position(|&one| one == variable);
        let statement = matches!(sql, Sql::Statement(_));
        number.filter(|_| is_fixed).map(|number| Sql::Parameter { number, statement })
    }

    /// Returns true if the function may have written the text of the caller that a query of a node
    /// runs.
    fn changes_text(&self, query: &QueryCall<'a>, node: NodeIndex) -> bool {
        let Sql::Expression(expression) = query.sql else { return false };
        let Some(variable) = access::variable(expression) else { return false };
        let text = Place::whole(Root::Pointee(variable));
        let writes = self.reaching(node, &text);
        self.writes_beside(node, &query.own, &text)
            || writes.iter().any(|&write| self.definitions.all[write].node != ENTRY)
    }

    /// Returns true if a node may write a place, other than by a range of its accesses.
    fn writes_beside(&self, node: NodeIndex, own: &Range<usize>, place: &Place) -> bool {
        let accesses = self.effects[node].accesses.iter().enumerate();
        let mut beside = accesses.filter(|(at, _)| !own.contains(at)).map(|(_, one)| one);
        beside.any(|one| one.kind != AccessKind::Read && self.may_share(&one.place, place))
    }

    /// Returns the parameter that leads to the place of a handle: that of `*out`.
    fn behind_parameter(&self, name: &Sql<'a>, function: &Function) -> Option<Sql<'a>> {
        let Sql::Expression(expression) = name else { return None };
        let ExpressionKind::Dereference(pointer) = &expression.kind else { return None };
        match self.parameter_of(&Sql::Expression(pointer), function) {
            Some(Sql::Parameter { number, .. }) => {
                Some(Sql::Parameter { number, statement: false })
            }
            _ => None,
        }
    }

    /// Returns true if a function returns the handle of a statement that it prepares, and nothing
    /// else but null pointers.
    fn returns_handle(&self, name: &Sql<'a>, node: NodeIndex) -> bool {
        let Sql::Expression(handle) = name else { return false };
        let prepared = self.targets(handle, node);
        let returned = self.graph.nodes.iter().enumerate().filter_map(|(at, one)| match one.kind {
            NodeKind::Return(Some(value)) => Some(self.targets(value, at)),
            _ => None,
        });
        let returned: Vec<Place> = returned.flatten().collect();
        let is_object = |place: &Place| matches!(place.root, Root::Object(_));
        prepared.iter().all(is_object) && !returned.is_empty() && {
            returned.iter().all(|place| prepared.contains(place))
        }
    }

    /// Returns the SQL of a query of a node: the texts of which it runs one.
    ///
    /// # Errors
    /// The fact that is missing.
    pub fn sql_of(&self, query: &QueryCall<'a>, node: NodeIndex) -> Result<Vec<String>, String> {
        let texts = self.texts_of(&query.sql, node, &query.own)?;
        let server = self.server().unwrap_or(Server::Postgresql);
        Ok(texts.iter().map(|text| text::with_parameters(text, server)).collect())
    }

    /// Returns the texts that a query of a node may have, whose own accesses are in a range.
    fn texts_of(
        &self,
        sql: &Sql<'a>,
        node: NodeIndex,
        own: &Range<usize>,
    ) -> Result<Vec<String>, String> {
        match sql {
            Sql::Texts(texts) => Ok(texts.clone()),
            Sql::Missing(reason) => Err(reason.clone()),
            Sql::Parameter { .. } => Err("the SQL is a parameter of the function".to_string()),
            Sql::Expression(expression) => text::of(self, expression, node, own),
            Sql::Format(format, values) => text::formatted(self, format, values, node, own),
            Sql::Statement(expression) => prepared::of(self, expression, node, own),
        }
    }
}

/// Returns what exists before the function is called, as writes of the entry.
fn entry<'a>(program: &Program, function: &Function) -> Effects<'a> {
    let outer = program.variables.iter().enumerate().filter(|(_, variable)| variable.is_lasting());
    let outer = outer.map(|(index, _)| VariableIndex(index));
    let variables = function.parameters.iter().copied().chain(outer);
    let roots = variables.flat_map(|one| [Root::Variable(one), Root::Pointee(one)]);
    let all = roots.chain([Root::Unknown, Root::Last, Root::LastWrite, Root::Outside]);
    let write = |root| Access { place: Place::whole(root), kind: AccessKind::Write, value: None };
    Effects { accesses: all.map(write).collect(), ..Effects::default() }
}

fn effects<'a, P: Pointers<'a>>(
    graph: &Graph<'a>,
    around: Surroundings<'a, '_>,
    entry: &Effects<'a>,
    pointers: &mut dyn FnMut(NodeIndex) -> P,
) -> Vec<Effects<'a>> {
    let mut all = vec![entry.clone()];
    for (index, node) in graph.nodes.iter().enumerate().skip(1) {
        let pointers = pointers(index);
        let mut evaluation = Evaluation::new(around, &pointers, index);
        match node.kind {
            NodeKind::Evaluate(expression) => {
                evaluation.test = graph.tested(index);
                evaluation.value(expression);
            }
            NodeKind::Outcome { test, holds, condition } => {
                let mut evaluation = Evaluation::new(around, &pointers, condition);
                if let Some(test) = test {
                    evaluation.outcome(test, holds);
                }
                all.push(evaluation.into_effects());
                continue;
            }
            NodeKind::Return(Some(value)) | NodeKind::Throw(Some(value)) => evaluation.value(value),
            NodeKind::Declare(declaration) => evaluation.declare(declaration),
            NodeKind::Opaque(reason) => evaluation.opaque(reason),
            NodeKind::Return(None) | NodeKind::Throw(None) | NodeKind::Nothing => {}
        }
        all.push(evaluation.into_effects());
    }
    all
}

fn effects_with<'a>(flow: &Flow<'a, '_>, entry: &Effects<'a>) -> Vec<Effects<'a>> {
    effects(&flow.graph, flow.around, entry, &mut |node| Resolver::at(flow, node))
}

/// Returns, for each node, true if a call that may write anything may come before it.
fn behind_barriers(graph: &Graph<'_>, effects: &[Effects<'_>]) -> Vec<bool> {
    let mut behind = vec![false; graph.nodes.len()];
    let barriers = effects.iter().enumerate().filter(|(_, one)| one.writes_anything);
    for (node, _) in barriers {
        let reachable = graph.reachable(node);
        behind.iter_mut().zip(reachable).for_each(|(behind, reached)| *behind |= reached);
    }
    behind
}

/// Returns true if two passes have found the same accesses.
fn same_accesses(before: &[Effects<'_>], after: &[Effects<'_>]) -> bool {
    let key = |access: &Access<'_>| (access.kind, access.value.map(std::ptr::from_ref));
    let same = |(a, b): (&Access<'_>, &Access<'_>)| a.place == b.place && key(a) == key(b);
    before.iter().zip(after).all(|(a, b)| {
        let (a, b) = (&a.accesses, &b.accesses);
        a.len() == b.len() && a.iter().zip(b).all(same)
    })
}

/// Leads nowhere: the pointers of the first pass.
struct NoPointers;

impl Pointers<'_> for NoPointers {
    fn led_to(&self, _: &Place) -> Vec<Place> {
        Vec::new()
    }

    fn texts(&self, _: &Expression) -> Vec<String> {
        Vec::new()
    }
}

/// Follows the local pointers by the definitions that reach a node.
struct Resolver<'f, 'a, 'p> {
    flow: &'f Flow<'a, 'p>,
    node: NodeIndex,
    /// The definitions that are being followed: a pointer may depend on its own earlier value.
    followed: RefCell<Vec<DefinitionIndex>>,
    /// True if such a dependence was met, and what it adds was left out.
    is_cut: Rc<Cell<bool>>,
}

impl<'f, 'a, 'p> Resolver<'f, 'a, 'p> {
    fn at(flow: &'f Flow<'a, 'p>, node: NodeIndex) -> Resolver<'f, 'a, 'p> {
        let is_cut = Rc::new(Cell::new(false));
        Resolver { flow, node, followed: RefCell::new(Vec::new()), is_cut }
    }

    fn follow(&self, definition: DefinitionIndex) -> Vec<Place> {
        let flow = self.flow;
        let made = &flow.definitions.all[definition];
        if made.node == ENTRY
            && let Root::Variable(variable) = made.place.root
            && flow.around.program.variable(variable).scope == Scope::Parameter
        {
            return vec![Place::whole(Root::Pointee(variable))];
        }
        let Some(value) = made.value else {
            if let Root::Variable(variable) = made.place.root
                && (prepared::preparations(flow, variable, made.node).next().is_some()
                    || flow.stores_new(&made.place, made.node))
            {
                return vec![Place::whole(Root::Object(made.node))];
            }
            let declares = matches!(flow.graph.nodes[made.node].kind, NodeKind::Declare(_));
            let unknown = Place::whole(Root::Unknown);
            return if declares { Vec::new() } else { vec![unknown] };
        };
        if !flow.around.is_pointer(value) {
            return match is_part_of_pointer(flow.around.program, &made.place) {
                true => vec![Place::whole(Root::Unknown)],
                false => Vec::new(),
            };
        }
        if self.followed.borrow().contains(&definition) {
            self.is_cut.set(true);
            return Vec::new();
        }
        let mut followed = self.followed.borrow().clone();
        followed.push(definition);
        let is_cut = Rc::clone(&self.is_cut);
        let there = Resolver { flow, node: made.node, followed: RefCell::new(followed), is_cut };
        let copied = flow.around.targets_of_copy(value, &there, made.node);
        copied.unwrap_or_else(|| flow.around.targets(value, &there, made.node))
    }
}

/// Returns true for some bytes of a pointer.
fn is_part_of_pointer(program: &Program, place: &Place) -> bool {
    let Some((Step::Element(_), path)) = place.path.split_last() else { return false };
    let pointer = Place { root: place.root.clone(), path: path.to_vec() };
    matches!(place::type_of(program, &pointer), Some(Type::Pointer { .. }))
}

impl Resolver<'_, '_, '_> {
    /// Returns the place that the pointers in an object lead to: the object itself if a database
    /// interface made it and the function stores nothing in it.
    fn led_to_by_object(&self, place: &Place, maker: NodeIndex) -> Root {
        let flow = self.flow;
        let is_stored = flow
            .reaching(self.node, place)
            .into_iter()
            .any(|definition| flow.definitions.all[definition].value.is_some());
        let of_database = flow.effects[maker].makes_result;
        if of_database && !is_stored { place.root.clone() } else { Root::Unknown }
    }
}

impl<'a> Pointers<'a> for Resolver<'_, 'a, '_> {
    fn led_to(&self, place: &Place) -> Vec<Place> {
        let flow = self.flow;
        let unknown = || vec![Place::whole(Root::Unknown)];
        match place.root {
            Root::Object(maker) => return vec![Place::whole(self.led_to_by_object(place, maker))],
            Root::Pointee(_) | Root::Behind(_) => return self.loaded(place),
            Root::Variable(variable) => {
                if flow.addresses.escaped[variable.0] || flow.addresses.held[variable.0] {
                    return unknown();
                }
                if flow.around.program.variable(variable).is_lasting() {
                    return self.loaded(place);
                }
            }
            _ => return unknown(),
        }
        let definitions = self.definitions(place);
        sorted(definitions.into_iter().flat_map(|definition| self.follow(definition)))
    }

    fn texts(&self, statement: &'a Expression) -> Vec<String> {
        prepared::of(self.flow, statement, self.node, &(0..0)).unwrap_or_default()
    }
}

fn sorted(places: impl Iterator<Item = Place>) -> Vec<Place> {
    let mut places: Vec<Place> = places.collect();
    places.sort();
    places.dedup();
    places
}

impl Resolver<'_, '_, '_> {
    /// Returns the definitions of a place that a node may see, those of its own among them.
    fn definitions(&self, place: &Place) -> Vec<DefinitionIndex> {
        let flow = self.flow;
        let mut definitions = flow.reaching(self.node, place);
        let own = flow.definitions.all.iter().enumerate();
        let own = own.filter(|(_, one)| one.node == self.node && flow.may_share(&one.place, place));
        definitions.extend(own.map(|(index, _)| index));
        definitions
    }

    /// Returns what a pointer in memory that is not the function's own leads to: what it led to
    /// when the function was called, if no write that the tool cannot follow comes before.
    ///
    /// **Safe because** a place in such memory has its initial value until a write that may share
    /// bytes with it, a call that the tool does not know included. See the module head for writes
    /// through pointers.
    fn loaded(&self, place: &Place) -> Vec<Place> {
        let flow = self.flow;
        let unknown = Place::whole(Root::Unknown);
        flow.has_followed_memory.set(true);
        // What was left out of the base of a load would lead elsewhere, as in a walk along a list.
        let is_followed = flow.follows_memory
            && !flow.behind_barrier[self.node]
            && !self.is_cut.get()
            && loads(place) < MOST_LOADS;
        if !is_followed {
            return vec![unknown];
        }
        let follow = |definition: DefinitionIndex| {
            let made = &flow.definitions.all[definition];
            // A static variable has its initial value in the first call only.
            let declares = matches!(flow.graph.nodes[made.node].kind, NodeKind::Declare(_));
            if made.node == ENTRY || declares && made.place.root == place.root {
                let behind = Behind { pointer: place.clone(), texts: Vec::new() };
                return vec![Place::whole(Root::Behind(Box::new(behind)))];
            }
            match made.value {
                // A number that is stored elsewhere may share bytes by a mistake of the types only.
                Some(value) if !flow.around.is_pointer(value) && made.place.root != place.root => {
                    vec![unknown.clone()]
                }
                _ => self.follow(definition),
            }
        };
        sorted(self.definitions(place).into_iter().flat_map(follow))
    }
}

/// Returns the number of pointers in memory through which a place is reached.
fn loads(place: &Place) -> usize {
    match &place.root {
        Root::Behind(behind) => 1 + loads(&behind.pointer),
        _ => 0,
    }
}
