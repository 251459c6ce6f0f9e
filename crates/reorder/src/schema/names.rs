//! Names of tables and functions with and without prefix.

use std::collections::BTreeMap;

use super::{Schema, Tables};
use crate::api::Server;

/// The prefix of a server's objects that a name without prefix means.
fn usual_prefix(server: Server) -> Option<&'static str> {
    match server {
        Server::Postgresql => Some("public"),
        Server::Sqlite => Some("main"),
        Server::Mysql => None,
    }
}

impl Schema {
    /// Returns the name by which the schema has a table or view, from the parts of a name.
    ///
    /// A name with a prefix is not that of a table whose DDL has another prefix; nor that of one
    /// whose DDL has none, unless the prefix is the server's usual one (`public`, `main`).
    ///
    /// # Errors
    /// A message, if the name has no prefix and tables of several prefixes have it.
    pub fn name_of(&self, parts: &[String]) -> Result<String, String> {
        let Some((name, before)) = parts.split_last() else { return Ok(String::new()) };
        let Some(known) = self.prefixes.get(name) else { return Ok(name.clone()) };
        let Some(prefix) = before.last() else {
            if known.len() > 1 {
                return Err(format!(
                    "there are several tables `{name}`: write the name with its prefix"
                ));
            }
            return Ok(name.clone());
        };
        let usual = self.server.and_then(usual_prefix) == Some(prefix);
        let is_same = |one: &Option<String>| match one {
            Some(one) => one == prefix,
            None => usual,
        };
        match known.len() == 1 && known.iter().all(is_same) {
            true => Ok(name.clone()),
            false => Ok(format!("{prefix}.{name}")),
        }
    }

    /// Returns the tables that a function or procedure may touch; `None` if the schema does not
    /// define it.
    pub fn function(&self, name: &str) -> Option<&Tables> {
        self.of_function(&self.functions, name)
    }

    /// Returns the tables whose rows a function or procedure may change; `None` if the schema does
    /// not define it.
    pub(crate) fn function_changes(&self, name: &str) -> Option<&Tables> {
        self.of_function(&self.changes, name)
    }

    fn of_function<'s>(&self, all: &'s BTreeMap<String, Tables>, name: &str) -> Option<&'s Tables> {
        let usual = || all.get(self.without_usual_prefix(name)?);
        all.get(name).or_else(usual)
    }

    /// Returns the functions with a value that changes, or that depends on the session, which a
    /// function or procedure calls.
    pub fn inherited_by(&self, name: &str) -> impl Iterator<Item = &String> {
        let usual = || self.inherited.get(self.without_usual_prefix(name)?);
        self.inherited.get(name).or_else(usual).into_iter().flatten()
    }

    /// Returns a name without the prefix that it may be written without.
    fn without_usual_prefix<'n>(&self, name: &'n str) -> Option<&'n str> {
        let (prefix, name) = name.split_once('.')?;
        (self.server.and_then(usual_prefix) == Some(prefix)).then_some(name)
    }
}
