//! The reads and writes of a node: its expression, evaluated over places instead of values.
//!
//! Calls are not looked into: a model says what they do, or the summary of a function of the same
//! file. A call that has neither is a barrier.

mod bind;
mod bytes;
mod caller;
mod own;

pub use super::effects::{
    Access, AccessKind, Bound, BoundPart, Connection, Effects, Fetch, QueryCall, Sql,
};
use super::{
    escape::plain_variable,
    place::{Place, Root, Step},
    pointers::{Pointers, Surroundings},
    summary::{Part, Summary},
    test::{self, Test},
};
use crate::{
    api::{Call, Memory, Returns, Role},
    ir::{Callee, Declaration, Expression, ExpressionKind as Kind, Type, VariableIndex},
};

/// The evaluation of one node.
pub(crate) struct Evaluation<'a, 'p> {
    around: Surroundings<'a, 'p>,
    pointers: &'p dyn Pointers<'a>,
    /// The number of the node: the name of the objects that its calls create.
    node: usize,
    effects: Effects<'a>,
    /// True within an operand that may not be evaluated.
    conditional: bool,
    /// The test whose outcomes have nodes of their own.
    pub(super) test: Option<Test<'a>>,
}

impl<'a, 'p> Evaluation<'a, 'p> {
    pub(crate) fn new(
        around: Surroundings<'a, 'p>,
        pointers: &'p dyn Pointers<'a>,
        node: usize,
    ) -> Self {
        let effects = Effects::default();
        Evaluation { around, pointers, node, effects, conditional: false, test: None }
    }

    pub(crate) fn into_effects(self) -> Effects<'a> {
        self.effects
    }

    /// Notes a statement that the front end does not represent.
    pub(crate) fn opaque(&mut self, reason: &str) {
        self.unknown(reason.to_string());
    }

    /// Evaluates a declaration.
    pub(crate) fn declare(&mut self, declaration: &'a Declaration) {
        if self.around.is_initialized_once(declaration) {
            self.under(true, |evaluation| evaluation.initialize(declaration));
        } else if !self.around.is_kept(declaration) {
            self.initialize(declaration);
        }
    }

    fn initialize(&mut self, declaration: &'a Declaration) {
        let place = Place::whole(Root::Variable(declaration.variable));
        let Some(initial) = &declaration.initial else {
            // The declaration gives the variable no value, and no use of an earlier one.
            self.write(place, None);
            return;
        };
        self.own(declaration, initial);
        self.value(initial);
        match &initial.kind {
            Kind::List(values) if self.is_array(&place) => {
                self.write(place.clone(), None);
                for (index, value) in values.iter().enumerate() {
                    self.write(place.part(Step::Element(Some(index as u64))), Some(value));
                }
            }
            _ => self.write(place, Some(initial)),
        }
    }

    fn is_array(&self, place: &Place) -> bool {
        let variable = place.variable().map(|variable| self.around.program.variable(variable));
        variable.is_some_and(|variable| matches!(variable.ty, Type::Array { .. }))
    }

    /// Evaluates an expression for its value.
    pub(crate) fn value(&mut self, expression: &'a Expression) {
        match &expression.kind {
            Kind::Constant(_) | Kind::Text(_) => {}
            Kind::Variable(_)
            | Kind::Dereference(_)
            | Kind::Element { .. }
            | Kind::Field { .. } => {
                for place in self.places(expression) {
                    self.note_volatile(&place);
                    if !matches!(self.around.type_of(expression), Some(Type::Array { .. })) {
                        self.read(place);
                    }
                }
            }
            Kind::Address(operand) => drop(self.places(operand)),
            Kind::Binary(operator, left, right) => {
                self.value(left);
                let may_skip = operator == "&&" || operator == "||";
                self.under(may_skip, |evaluation| evaluation.value(right));
            }
            Kind::Conditional(condition, yes, no) => {
                self.value(condition);
                self.under(true, |evaluation| evaluation.value(yes));
                self.under(true, |evaluation| evaluation.value(no));
            }
            Kind::Assign { operator, target, value } => {
                self.value(value);
                let moved = self.around.is_pointer(target).then_some(expression);
                let stored = if operator.is_none() { Some(&**value) } else { moved };
                let places = self.places(target);
                if operator.is_some() {
                    places.iter().for_each(|place| self.read(place.clone()));
                }
                self.write_one_of(places, stored);
            }
            Kind::Increment(_, operand) => {
                let moved = self.around.is_pointer(operand).then_some(expression);
                let places = self.places(operand);
                places.iter().for_each(|place| self.read(place.clone()));
                self.write_one_of(places, moved);
            }
            Kind::Call { callee, arguments, .. } => self.call(expression, callee, arguments),
            Kind::Construct(class, arguments) => {
                arguments.iter().for_each(|argument| self.value(argument));
                match self.around.models.construct(class) {
                    Some(model) => self.modelled(expression, arguments, model),
                    None => {
                        self.unknown(format!("`{class}` is constructed, which no model describes"))
                    }
                }
            }
            Kind::Opaque(reason) => self.unknown(reason.clone()),
            Kind::Unary(..) | Kind::Cast(..) | Kind::Comma(..) | Kind::List(_) => {
                expression.for_each_child(&mut |child| self.value(child));
            }
        }
    }

    fn under(&mut self, may_skip: bool, evaluate: impl FnOnce(&mut Self)) {
        let before = self.conditional;
        self.conditional |= may_skip;
        evaluate(self);
        self.conditional = before;
    }

    fn barrier(&mut self, reason: String) {
        self.effects.barriers.push(reason);
    }

    /// Notes a barrier that may also write any memory.
    fn unknown(&mut self, reason: String) {
        self.effects.writes_anything = true;
        self.barrier(reason);
        self.may_ask_connection();
    }

    /// Notes that code which is not understood may use the connection, wherever it has got it from:
    /// it reads the error there, and what else queries have left.
    fn may_ask_connection(&mut self) {
        self.effects.asks_connection = true;
        self.read(Place::error());
    }

    fn access(&mut self, place: Place, kind: AccessKind, value: Option<&'a Expression>) {
        self.effects.accesses.push(Access { place, kind, value });
    }

    /// A volatile variable is shared with something outside of the program.
    fn note_volatile(&mut self, place: &Place) {
        let variable = place.variable().map(|variable| self.around.program.variable(variable));
        if variable.is_some_and(|variable| variable.volatile) {
            self.access(Place::whole(Root::Outside), AccessKind::WeakWrite, None);
        }
    }

    fn read(&mut self, place: Place) {
        self.access(place, AccessKind::Read, None);
    }

    fn write(&mut self, place: Place, value: Option<&'a Expression>) {
        self.note_volatile(&place);
        let exact = place.root.is_single() && !place.path.contains(&Step::Element(None));
        let kind =
            if exact && !self.conditional { AccessKind::Write } else { AccessKind::WeakWrite };
        self.access(place, kind, value);
    }

    /// Records the write of one of several places.
    fn write_one_of(&mut self, places: Vec<Place>, value: Option<&'a Expression>) {
        let several = places.len() > 1;
        self.under(several, |evaluation| {
            places.into_iter().for_each(|place| evaluation.write(place, value));
        });
    }

    /// Returns the places that an expression may denote, and records the reads on the way.
    fn places(&mut self, expression: &'a Expression) -> Vec<Place> {
        self.on_the_way(expression);
        self.around.denoted(expression, self.pointers, self.node)
    }

    /// Records what is read to find a place: indexes and pointers.
    fn on_the_way(&mut self, expression: &'a Expression) {
        match &expression.kind {
            Kind::Variable(_) | Kind::Text(_) | Kind::Constant(_) => {}
            Kind::Field { base, .. } | Kind::Cast(_, base) => self.on_the_way(base),
            Kind::Element { base, index } => {
                self.value(index);
                if self.around.is_array(base) { self.on_the_way(base) } else { self.value(base) }
            }
            Kind::Dereference(pointer) => self.value(pointer),
            _ => self.value(expression),
        }
    }

    fn call(&mut self, expression: &'a Expression, callee: &Callee, arguments: &'a [Expression]) {
        let model = self.around.models.call(callee);
        for (at, argument) in arguments.iter().enumerate() {
            // The model says whether the call also reads an object that it writes.
            let is_object = matches!(self.around.type_of(argument), Some(Type::Class(_)))
                && matches!(argument.kind, Kind::Variable(_) | Kind::Field { .. });
            let writes =
                model.is_some_and(|model| model.writes.iter().any(|one| one.argument == at));
            match is_object && writes {
                true => drop(self.places(argument)),
                false => self.value(argument),
            }
        }
        if let Some(model) = model {
            self.modelled(expression, arguments, model);
            return;
        }
        let Callee::Function(name) = callee else {
            let what = match callee {
                Callee::Field(name) => format!("the function pointer `{name}`"),
                _ => "a function pointer".to_string(),
            };
            self.unknown(format!("calls {what}, which no model describes"));
            return;
        };
        match self.around.summaries.of(name) {
            Some(Ok(summary)) => {
                let test = self.test.filter(|test| std::ptr::eq(test.call, expression));
                let is_here =
                    |part: &&Part<'a>| test.is_none_or(|one| part.outcome(&one).is_none());
                let (before, queries) = (self.effects.accesses.len(), self.effects.queries.len());
                let bound = self.effects.bound.len();
                for part in summary.parts.iter().filter(is_here) {
                    self.summarised(arguments, summary, &part.effects, bound);
                }
                self.own_from(before, queries);
                self.effects.tests_inputs |=
                    summary.tests_inputs && summary.queries().next().is_some();
                if summary.returns == Returns::New {
                    self.effects.makes_result = summary.returns_result;
                    self.write(Place::whole(Root::Object(self.node)), None);
                }
            }
            Some(Err(reason)) => self.unknown(reason.clone()),
            None => self.unknown(format!("calls `{name}`, which no model describes")),
        }
    }

    fn modelled(
        &mut self,
        expression: &'a Expression,
        arguments: &'a [Expression],
        model: &'a Call,
    ) {
        let (before, queries) = (self.effects.accesses.len(), self.effects.queries.len());
        let is_given = |&one: &usize| arguments.get(one).is_some_and(|one| !test::is_null(one));
        if model.callbacks.iter().any(is_given) {
            self.unknown("calls a function that is passed to it".to_string());
        }
        if model.role == Role::Query
            && let Some(reason) = self.around.summaries.hook()
        {
            self.unknown(reason.to_string());
        }
        if model.throws {
            self.barrier("it may throw, and whether that rolls back is not known".to_string());
        }
        if model.role == Role::Barrier {
            // One with a connection does anything with that only.
            self.effects.writes_anything |= model.connection.is_none();
            let use_of = used_by(expression);
            self.barrier(format!("{use_of}, after which nothing may move, by its model"));
            self.may_ask_connection();
        }
        if !model.open.is_empty() {
            let connection = model.connection.map(|one| self.led_to_by(arguments, one));
            self.effects.asks_open.push(connection.unwrap_or_default());
            let use_of = used_by(expression);
            self.barrier(format!(
                "{use_of}, and any query before it may have ended the transaction"
            ));
        }
        if let Some(parameters) = &model.parameters {
            let (argument, count) = (parameters.array, Some(parameters.count));
            let memory = Memory { argument, deep: true, count, ..Memory::default() };
            self.read_memory(arguments, memory);
        }
        // A call that prepares a statement stores its handle, if it takes a place for one.
        let statement = model.statement.filter(|_| model.role != Role::Prepare);
        for argument in model.sql.into_iter().chain(statement) {
            self.read_memory(arguments, Memory { argument, ..Memory::default() });
        }
        for &memory in &model.reads {
            match self.bound_structures(arguments, model, memory.argument) {
                Some(structures) => structures.into_iter().for_each(|one| self.read(one)),
                None => self.read_memory(arguments, memory),
            }
        }
        if model.reads_last {
            self.read(match (model.last_write, model.status) {
                (true, _) => Place::whole(Root::LastWrite),
                (false, true) => Place::error(),
                (false, false) => Place::whole(Root::Last),
            });
        }
        if model.outside {
            self.read(Place::whole(Root::Outside));
            self.write(Place::whole(Root::Outside), None);
        }
        model.writes.iter().for_each(|&memory| self.write_memory(arguments, memory, model));
        if let Some(made) = model.makes {
            self.make(arguments, made, model);
        }
        for &ended in &model.ends {
            for place in self.led_to_by(arguments, ended) {
                self.read(place.clone());
                self.access(place, AccessKind::End, None);
            }
        }
        if let Some(statement) = model.statement.filter(|_| model.resets) {
            let places = self.led_to_by(arguments, statement);
            self.effects.resets.extend(places);
        }
        self.bind(arguments, model);
        let runs = matches!(model.role, Role::Query | Role::Begin | Role::Commit | Role::Rollback);
        if runs {
            self.write(Place::whole(Root::Last), None);
        } else if model.writes_last {
            // It sets the error, and may leave the rest as it was: `mysql_free_result`.
            self.access(Place::whole(Root::Last), AccessKind::WeakWrite, None);
            self.write(Place::error(), None);
        }
        if runs {
            // A query that only reads leaves it as it was.
            self.access(Place::whole(Root::LastWrite), AccessKind::WeakWrite, None);
        }
        if model.role != Role::None && model.role != Role::Barrier {
            let argument = |number: Option<usize>| number.and_then(|one| arguments.get(one));
            let sql = match (&model.text, argument(model.sql), argument(model.statement)) {
                (Some(text), _, _) => Sql::Texts(vec![text.clone()]),
                (None, Some(sql), _) if model.format => {
                    let values = model.sql.map_or(0, |number| number + 1);
                    Sql::Format(sql, &arguments[values..])
                }
                (None, Some(sql), _) => Sql::Expression(sql),
                (None, None, Some(statement)) => Sql::Statement(statement),
                _ => Sql::Missing("the model names no argument with the SQL".to_string()),
            };
            let name = argument(model.statement).filter(|_| model.role == Role::Prepare);
            let name = name.map(Sql::Expression);
            let connection = argument(model.connection);
            let connection = connection.map_or(Connection::None, Connection::Argument);
            let runs = model.statement.filter(|_| model.role == Role::Query);
            let statements = runs.map_or(Vec::new(), |one| self.led_to_by(arguments, one));
            let connections =
                model.connection.map_or(Vec::new(), |one| self.led_to_by(arguments, one));
            self.query(QueryCall {
                expression,
                model,
                sql,
                name,
                connection,
                statements,
                bound_before: self.effects.bound.len(),
                certain: !self.conditional,
                is_bound: false,
                connections,
                own: 0..0,
            });
        }
        if model.returns == Returns::New {
            self.effects.makes_result = model.connection.is_some() || model.role != Role::None;
            self.write(Place::whole(Root::Object(self.node)), None);
        }
        self.own_from(before, queries);
        self.effects.status |= model.status;
        self.effects.streams |= model.streams && model.role != Role::Query;
        let reads_object = || {
            let accesses = self.effects.accesses[before..].iter();
            let mut reads = accesses.filter(|access| access.kind == AccessKind::Read);
            reads.any(|access| access.place.root.is_object())
        };
        let binds = model.binds_memory();
        let gives = model.writes.is_empty() || matches!(model.returns, Returns::Borrowed(_));
        let only_asks = model.status
            || model.role != Role::None
            || !model.ends.is_empty()
            || binds
            || !gives && !model.reads_last;
        self.effects.result |= !only_asks && (model.reads_last || reads_object());
    }

    /// Notes that all accesses from a place on are those of the queries from a place on. A called
    /// function has seen itself that it does not change the text of its caller.
    fn own_from(&mut self, accesses: usize, queries: usize) {
        let own = accesses..self.effects.accesses.len();
        self.effects.queries[queries..].iter_mut().for_each(|query| query.own = own.clone());
    }

    /// Adds a query. One that prepares a statement and stores its handle makes an object.
    fn query(&mut self, query: QueryCall<'a>) {
        if query.model.role == Role::Prepare
            && let Some(Sql::Expression(name)) = query.name
            && matches!(name.kind, Kind::Address(_))
        {
            self.write(Place::whole(Root::Object(self.node)), None);
        }
        self.effects.queries.push(query);
    }

    /// Stores a pointer to a new object where an argument leads to.
    fn make(&mut self, arguments: &'a [Expression], made: usize, model: &Call) {
        let places = self.led_to_by(arguments, made);
        self.write_one_of(places, None);
        self.effects.makes_result = model.connection.is_some() || model.role != Role::None;
        self.write(Place::whole(Root::Object(self.node)), None);
    }

    fn led_to_by(&self, arguments: &'a [Expression], argument: usize) -> Vec<Place> {
        let argument = arguments.get(argument);
        argument.map_or(Vec::new(), |one| self.around.targets(one, self.pointers, self.node))
    }

    fn read_memory(&mut self, arguments: &'a [Expression], memory: Memory) {
        for (argument, memory) in each(arguments, memory) {
            if !self.around.is_pointer(&arguments[argument]) {
                continue;
            }
            // The pointers of a list, as in `(const char *[]){ text }`, are its values.
            let is_list = memory.deep && memory.count.is_some() && is_list(&arguments[argument]);
            let bytes = memory.bytes.and_then(|bytes| arguments.get(bytes));
            for place in self.within_bytes(self.led_to_by(arguments, argument), bytes) {
                if is_list {
                    self.read(place);
                    continue;
                }
                let parts = self.counted(&place, arguments, memory.count);
                for part in parts {
                    if memory.deep {
                        let inner = self.around.led_to(&part, self.pointers);
                        inner.into_iter().for_each(|inner| self.read(inner));
                    }
                    self.read(part);
                }
            }
        }
    }

    fn write_memory(&mut self, arguments: &'a [Expression], memory: Memory, model: &Call) {
        for (argument, memory) in each(arguments, memory) {
            if self.around.is_pointer(&arguments[argument]) {
                let mut places = self.led_to_by(arguments, argument);
                if memory.deep {
                    let inner =
                        places.iter().flat_map(|one| self.around.led_to(one, self.pointers));
                    let inner: Vec<Place> = inner.collect();
                    places.extend(inner);
                }
                let bytes = memory.bytes.and_then(|bytes| arguments.get(bytes));
                let whole = memory.whole || bytes.is_some_and(|bytes| self.is_size(bytes, &places));
                let places = self.within_bytes(places, bytes);
                // A call like `memset` reads nothing that it could store: no pointer is left.
                let value = stores_no_pointer(model).then_some(&NOTHING);
                self.under(!whole, |evaluation| evaluation.write_one_of(places, value));
            }
        }
    }

    /// Returns the first elements of an array, if their number is a constant; else the array.
    fn counted(&self, place: &Place, arguments: &[Expression], count: Option<usize>) -> Vec<Place> {
        let count = count.and_then(|argument| arguments.get(argument)).and_then(constant);
        match count {
            Some(count) if count <= 256 && matches!(place.root, Root::Variable(_)) => {
                (0..count).map(|index| place.part(Step::Element(Some(index)))).collect()
            }
            _ => vec![place.clone()],
        }
    }

    /// Evaluates what is known behind a condition that tests a call.
    pub(crate) fn outcome(&mut self, test: Test<'a>, holds: bool) {
        let Kind::Call { callee: Callee::Function(name), arguments, .. } = &test.call.kind else {
            return;
        };
        if self.around.models.call(&Callee::Function(name.clone())).is_some() {
            return;
        }
        let Some(Ok(summary)) = self.around.summaries.of(name) else { return };
        let is_here = |part: &&Part<'a>| part.outcome(&test) == Some(holds);
        for part in summary.parts.iter().filter(is_here) {
            self.summarised(arguments, summary, &part.effects, 0);
        }
        self.own_from(0, 0);
    }

    /// Adds what a called function does, of whose node a number of the caller's bindings come
    /// before the call.
    fn summarised(
        &mut self,
        arguments: &'a [Expression],
        summary: &Summary<'a>,
        effects: &Effects<'a>,
        bound_before: usize,
    ) {
        for access in &effects.accesses {
            let places = self.for_caller(&access.place, arguments, summary);
            let value = access.value.and_then(|value| match plain_variable(value) {
                Some(variable) => {
                    let number = summary.parameters.iter().position(|&one| one == variable)?;
                    // The object of a method is no pointer to it.
                    arguments.get(number).filter(|_| !summary.method || number > 0)
                }
                None => Some(value),
            });
            match access.kind {
                AccessKind::Read => places.into_iter().for_each(|place| self.read(place)),
                AccessKind::Write => self.write_one_of(places, value),
                AccessKind::WeakWrite => {
                    self.under(true, |evaluation| evaluation.write_one_of(places, value));
                }
                AccessKind::End => {
                    places.into_iter().for_each(|place| self.access(place, AccessKind::End, None));
                }
            }
        }
        for query in &effects.queries {
            let mut query = query.clone();
            query.sql = for_caller(query.sql, arguments);
            query.name = query.name.map(|name| for_caller(name, arguments));
            if let Connection::Parameter(number) = query.connection {
                let argument = arguments.get(number);
                query.connection = argument.map_or(Connection::Hidden, Connection::Argument);
            }
            query.statements = self.all_for_caller(&query.statements, arguments, summary);
            query.connections = self.all_for_caller(&query.connections, arguments, summary);
            query.bound_before = bound_before;
            query.certain &= !self.conditional;
            self.query(query);
        }
        for bound in &effects.bound {
            let statements = self.all_for_caller(&bound.statements, arguments, summary);
            let memory = self.all_for_caller(&bound.memory, arguments, summary);
            let handle = bound.handle.and_then(|handle| {
                let parameter = plain_variable(handle)
                    .and_then(|one| summary.parameters.iter().position(|&other| other == one));
                parameter.map_or(Some(handle), |number| arguments.get(number))
            });
            let certain = bound.certain && !self.conditional;
            self.effects.bound.push(Bound { statements, handle, memory, certain, ..*bound });
        }
        for fetch in &effects.fetched {
            let statements = self.for_caller(&fetch.statement, arguments, summary);
            let fetch = |statement| Fetch { statement, bound_before, is_bound: fetch.is_bound };
            self.effects.fetched.extend(statements.into_iter().map(fetch));
        }
        self.effects.writes_anything |= effects.writes_anything;
        self.effects.asks_connection |= effects.asks_connection;
        self.effects.barriers.extend(effects.barriers.iter().cloned());
        for connections in &effects.asks_open {
            let connections = self.all_for_caller(connections, arguments, summary);
            self.effects.asks_open.push(connections);
        }
        let resets = self.all_for_caller(&effects.resets, arguments, summary);
        self.effects.resets.extend(resets);
        self.effects.status |= effects.status;
        self.effects.result |= effects.result;
        self.effects.streams |= effects.streams;
    }
}

/// The value of memory that holds no pointer.
pub(super) static NOTHING: Expression = Expression { range: None, kind: Kind::List(Vec::new()) };

/// Returns how a call is named in a message. The macro `errno` is one, too.
fn used_by(call: &Expression) -> String {
    match &call.kind {
        Kind::Call { callee: Callee::Function(name), .. } if name == "__errno_location" => {
            "uses `errno`".to_string()
        }
        Kind::Call { callee: Callee::Function(name) | Callee::Field(name), .. } => {
            format!("calls `{name}`")
        }
        _ => "calls a function".to_string(),
    }
}

fn is_list(expression: &Expression) -> bool {
    match &expression.kind {
        Kind::List(_) => true,
        Kind::Cast(_, operand) => is_list(operand),
        _ => false,
    }
}

/// Returns true for a call that reads no memory whose pointers it could store.
fn stores_no_pointer(model: &Call) -> bool {
    model.reads.is_empty() && model.role == Role::None && model.connection.is_none()
}

/// Returns a parameter's argument.
fn for_caller<'a>(sql: Sql<'a>, arguments: &'a [Expression]) -> Sql<'a> {
    match sql {
        Sql::Parameter { number, statement } => match arguments.get(number) {
            Some(argument) if statement => Sql::Statement(argument),
            Some(argument) => Sql::Expression(argument),
            None => Sql::Missing("the call lacks an argument".to_string()),
        },
        sql => sql,
    }
}

/// Returns the variable that an expression consists of.
pub(crate) fn variable(expression: &Expression) -> Option<VariableIndex> {
    match &expression.kind {
        Kind::Variable(variable) => Some(*variable),
        Kind::Cast(_, operand) | Kind::Address(operand) => variable(operand),
        _ => None,
    }
}

/// Returns the value of an integer literal.
fn constant(expression: &Expression) -> Option<u64> {
    match &expression.kind {
        Kind::Constant(text) => text.parse().ok(),
        Kind::Cast(_, operand) => constant(operand),
        _ => None,
    }
}

/// Returns the arguments that a model's memory means, each with the memory.
fn each(arguments: &[Expression], memory: Memory) -> impl Iterator<Item = (usize, Memory)> {
    let end = if memory.rest { arguments.len() } else { memory.argument + 1 };
    (memory.argument..end.min(arguments.len())).map(move |argument| (argument, memory))
}
