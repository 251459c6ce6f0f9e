//! The functions of the program that prepare statements, or bind memory to them, for the function
//! under test.
//!
//! A program prepares its statements once, and binds memory that a transaction fills before it runs
//! them. Without such a call no statement runs, and a value that is written too early or too late
//! shows in no query. So the test program calls these functions first, unless the user names some
//! with `--setup`. The mock reads bound memory when a statement runs, as the database does.

use std::collections::BTreeSet;

use super::Writer;
use crate::{
    ir::{Callee, ExpressionKind as Kind, Function, Program, Type, Variable},
    verify::Interface,
};

/// A function to call before the function under test.
struct Preparing<'a> {
    function: &'a Function,
    /// The number of the tested function's parameter that each of its own stands for; `None` for
    /// the connection.
    arguments: Vec<Option<usize>>,
}

impl<'a> Writer<'a> {
    /// Calls the functions that prepare statements or bind memory, with the arguments of the
    /// function under test.
    pub(super) fn prepare(
        &mut self,
        tested: &Function,
        parameters: &[&Variable],
        arguments: &[String],
    ) {
        if !self.options.setup.is_empty() {
            return;
        }
        for found in self.preparing(tested, parameters) {
            let passed = found.arguments.iter().map(|one| match *one {
                Some(number) => arguments[number].as_str(),
                None => "connection",
            });
            let passed: Vec<&str> = passed.collect();
            let name = &found.function.name;
            self.line(&format!("    (void){name}({});", passed.join(", ")));
            self.notes.push(format!(
                "`{name}` is called first, since it prepares statements; --setup names others"
            ));
            for number in found.arguments.into_iter().flatten() {
                self.has_value(&parameters[number].name);
            }
        }
    }

    /// Forgets that no values are made in what a parameter leads to.
    fn has_value(&mut self, parameter: &str) {
        let within = |place: &str| place.split('.').next() == Some(parameter);
        self.lacking.values_mut().for_each(|places| places.retain(|place| !within(place)));
        self.lacking.retain(|_, places| !places.is_empty());
    }

    /// Returns the functions that prepare or bind and run no query, that the tested function does
    /// not call, and of which each parameter is the connection or the type of a parameter of the
    /// tested function; not those that another one of them calls.
    fn preparing(&self, tested: &Function, parameters: &[&Variable]) -> Vec<Preparing<'a>> {
        let interface = self.options.interface;
        let called = reached(self.program, tested);
        let fits = |function: &'a Function| {
            let all = reached(self.program, function);
            let prepares = all.iter().any(|name| prepares(interface, name));
            let runs = all.iter().any(|name| interface.runs.contains(name));
            let is_free = !function.method && !called.contains(function.name.as_str());
            if !prepares || runs || !is_free || function.name == "main" {
                return None;
            }
            let arguments = function.declared().iter();
            let arguments =
                arguments.map(|&one| self.stands_for(self.program.variable(one), parameters));
            Some(Preparing { function, arguments: arguments.collect::<Option<_>>()? })
        };
        let all: Vec<Preparing<'a>> = self.program.functions.iter().filter_map(fits).collect();
        let calls: Vec<BTreeSet<&str>> =
            all.iter().map(|one| reached(self.program, one.function)).collect();
        let is_called = |name: &str| calls.iter().any(|one| one.contains(name));
        all.into_iter().filter(|one| !is_called(&one.function.name)).collect()
    }

    /// Returns the tested function's parameter that a variable stands for, or none for the
    /// connection.
    fn stands_for(&self, variable: &Variable, parameters: &[&Variable]) -> Option<Option<usize>> {
        if self.is_connection(variable) {
            return Some(None);
        }
        let is_structure = matches!(variable.ty.pointee(), Some(Type::Record(_)));
        let same = parameters.iter().position(|one| one.ty == variable.ty);
        same.filter(|_| is_structure).map(Some)
    }
}

/// Returns true for a function of the interface that prepares a statement or binds memory to one.
fn prepares(interface: &Interface, name: &str) -> bool {
    interface.prepares.iter().any(|begin| name.starts_with(begin))
}

/// Returns the names of all functions that a function calls, itself or through others of the file.
fn reached<'a>(program: &'a Program, function: &'a Function) -> BTreeSet<&'a str> {
    let (mut open, mut found) = (vec![function], BTreeSet::new());
    while let Some(function) = open.pop() {
        function.body.walk(&mut |statement| {
            for expression in statement.expressions() {
                expression.walk(&mut |inner| {
                    if let Kind::Call { callee: Callee::Function(name), .. } = &inner.kind
                        && found.insert(name.as_str())
                    {
                        open.extend(program.function(name));
                    }
                });
            }
        });
    }
    found
}
