//! The models that a run of the tool uses, as one: those of the C and C++ libraries, those of the
//! chosen interfaces, and the user's own.
//!
//! Each model is added once, after the one that it extends, and the user's after the built-in ones;
//! a call replaces those of the same name that were added before.

use std::collections::BTreeMap;

use super::{BadModel, Call, Memory, Model, Role, Server, load};
use crate::ir::Callee;

/// The built-in models, by path and text.
const TEXTS: [(&str, &str); 5] = [
    ("models/libc.toml", include_str!("../../models/libc.toml")),
    ("models/cpp.toml", include_str!("../../models/cpp.toml")),
    ("models/libpq.toml", include_str!("../../models/libpq.toml")),
    ("models/mysql.toml", include_str!("../../models/mysql.toml")),
    ("models/sqlite.toml", include_str!("../../models/sqlite.toml")),
];

/// The models without queries, which every program may use.
const LIBRARIES: [&str; 2] = ["libc", "cpp"];

/// Returns the models that are built in.
pub fn builtin() -> Vec<Model> {
    let read = |(path, text)| match load(text, path) {
        Ok(model) => model,
        Err(bad) => unreachable!("a test reads each built-in model: {bad}"),
    };
    TEXTS.into_iter().map(read).collect()
}

/// The name of the model that [`pure`] makes.
const PURE: &str = "--pure";

/// Returns a model of functions that touch neither the database nor anything outside of the
/// program. Each may read all that its arguments lead to, write what they point to, and returns a
/// value.
pub fn pure(functions: &[String]) -> Model {
    let written = Memory { rest: true, ..Memory::default() };
    let read = Memory { deep: true, ..written };
    let call = || Call { reads: vec![read], writes: vec![written], ..Call::default() };
    Model {
        name: PURE.to_owned(),
        extends: None,
        server: None,
        failure_aborts: false,
        calls: functions.iter().map(|name| (name.clone(), call())).collect(),
        statements: BTreeMap::new(),
    }
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Several models as one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Models {
    server: Option<Server>,
    failure_aborts: bool,
    calls: BTreeMap<String, Call>,
    statements: BTreeMap<String, String>,
    /// The names of the models that were added.
    names: Vec<String>,
    /// True if a model of the user has calls that use the database.
    own_interface: bool,
}

impl Models {
    /// Merges the models of the C and C++ libraries, the models that `chosen` names, and all of
    /// `own`. A model of `own` may have the name of a built-in one, and replaces it.
    ///
    /// # Errors
    /// [`BadModel`] if a model is not known, if models extend each other in a circle, or if two
    /// models are of different servers.
    pub fn new(chosen: &[&str], own: &[Model]) -> Result<Models, BadModel> {
        let is_own = |name: &str| own.iter().any(|model| model.name == name);
        let mut known = own.to_vec();
        known.extend(builtin().into_iter().filter(|model| !is_own(&model.name)));
        let chosen = chosen.iter().copied().filter(|name| !is_own(name));
        let own = own.iter().map(|model| model.name.as_str());
        let mut models = Models::default();
        for name in LIBRARIES.into_iter().chain(chosen).chain(own) {
            models.add(name, &known, &mut Vec::new())?;
        }
        models.own_interface = known.iter().filter(|model| is_own(&model.name)).any(|model| {
            model.calls.values().any(|call| !matches!(call.role, Role::None | Role::Barrier))
        });
        Ok(models)
    }

    /// Adds a model, unless it was added before. `within` are the models that extend it.
    fn add<'a>(
        &mut self,
        name: &'a str,
        known: &'a [Model],
        within: &mut Vec<&'a str>,
    ) -> Result<(), BadModel> {
        let wrong = |path: &str, key: &str, message| {
            let (path, key) = (path.to_owned(), key.to_owned());
            BadModel { path: format!("model {path}"), line: 0, key, message }
        };
        if within.contains(&name) {
            let message = format!("extends itself: {}", within.join(" extends "));
            return Err(wrong(name, "extends", message));
        }
        let Some(model) = known.iter().find(|model| model.name == name) else {
            let names: Vec<&str> = known.iter().map(|model| model.name.as_str()).collect();
            let message = format!("there is no such model; known are {}", names.join(", "));
            return Err(wrong(name, "name", message));
        };
        if self.names.contains(&model.name) {
            return Ok(());
        }
        if let Some(base) = &model.extends {
            within.push(name);
            self.add(base, known, within)?;
            within.pop();
        }
        if let (Some(other), Some(server)) = (self.server, model.server)
            && other != server
        {
            let message = format!("is for {server:?}, and another chosen model is for {other:?}");
            return Err(wrong(name, "server", message));
        }
        self.server = self.server.or(model.server);
        self.failure_aborts |= model.failure_aborts;
        self.calls.extend(model.calls.iter().map(|(name, call)| (name.clone(), call.clone())));
        let statements = model.statements.iter();
        self.statements.extend(statements.map(|(name, sql)| (without_space(name), sql.clone())));
        self.names.push(model.name.clone());
        Ok(())
    }

    /// Returns the SQL of a statement that a model names, by its name or its expression.
    pub fn statement(&self, name: &str) -> Option<&str> {
        self.statements.get(&without_space(name)).map(String::as_str)
    }

    /// Returns true if a model names statements.
    pub(crate) fn has_statements(&self) -> bool {
        !self.statements.is_empty()
    }

    /// Returns what a call does; `None` if no model describes it, so that it may do anything.
    pub fn call(&self, callee: &Callee) -> Option<&Call> {
        match callee {
            Callee::Function(name) => self.calls.get(without_parameters(name)),
            Callee::Field(name) => self.calls.get(name),
            Callee::Pointer => None,
        }
    }

    /// Returns what the construction of an object of a class does. The model has it as a call of
    /// the constructor, whose arguments do not include the object.
    pub fn construct(&self, class: &str) -> Option<&Call> {
        let last = class.rsplit("::").next().unwrap_or(class);
        self.calls.get(&format!("{class}::{last}"))
    }

    /// Returns true if a statement may keep the addresses of memory.
    pub(crate) fn bind_memory(&self) -> bool {
        self.calls.values().any(Call::binds_memory)
    }

    /// Returns true if a call uses the database, of which this is the name without the class.
    pub(crate) fn uses_database(&self, name: &str) -> bool {
        self.calls.iter().any(|(of, call)| {
            of.rsplit(['.', ':']).next() == Some(name)
                && !matches!(call.role, Role::None | Role::Barrier)
        })
    }

    /// Returns the server that the queries go to; `None` if no model has queries.
    pub fn server(&self) -> Option<Server> {
        self.server
    }

    /// Returns true if queries run by calls of the user's own models, which may keep more of a
    /// query than the built-in interfaces do.
    pub(crate) fn has_own_interface(&self) -> bool {
        self.own_interface
    }

    /// Returns true if the server undoes the whole transaction when a query fails, whatever the
    /// program does then.
    pub fn failure_aborts(&self) -> bool {
        self.failure_aborts
    }
}

/// Returns the name of a function without the types of its parameters, which the IR names if there
/// are several functions of that name.
fn without_parameters(name: &str) -> &str {
    let operator = "operator()";
    let from = name.find(operator).map_or(0, |at| at + operator.len());
    name[from..].find('(').map_or(name, |at| &name[..from + at])
}

#[cfg(test)]
mod tests;
