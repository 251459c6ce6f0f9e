//! Names of tables and functions with and without prefix.

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
        let usual = || {
            let (prefix, name) = name.split_once('.')?;
            let plain = self.server.and_then(usual_prefix) == Some(prefix);
            plain.then(|| self.functions.get(name)).flatten()
        };
        self.functions.get(name).or_else(usual)
    }
}
