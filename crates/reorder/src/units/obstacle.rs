//! The reasons why nothing moves across a query, though its text is understood: facts about its
//! tables that the rules cannot use, or that are missing.

use std::collections::BTreeSet;

use crate::{
    api::Server,
    schema::Schema,
    sql::{self, Query, names},
};

/// The facts about the names of tables in the SQL of a function.
pub(super) struct Names {
    /// The temporary tables that it creates, which stand for tables of the schema.
    temporary: BTreeSet<String>,
    /// The statement by which names without prefix mean other tables.
    chooses: Option<String>,
}

impl Names {
    /// Returns the facts that the texts of a function's queries show.
    pub(super) fn of(texts: &[String], server: Option<Server>) -> Names {
        let Some(server) = server else {
            return Names { temporary: BTreeSet::new(), chooses: None };
        };
        let temporary = texts.iter().filter_map(|text| sql::temporary_table(text, server));
        let chooses = |text: &&String| {
            let mut words = text.split([' ', '\t', '\n', '=']).filter(|word| !word.is_empty());
            let first = words.next().unwrap_or_default().to_ascii_lowercase();
            match server {
                Server::Postgresql => {
                    let mut words = words.take(2);
                    first == "set" && words.any(|word| word.eq_ignore_ascii_case("search_path"))
                }
                Server::Mysql => first == "use",
                Server::Sqlite => false,
            }
        };
        Names { temporary: temporary.collect(), chooses: texts.iter().find(chooses).cloned() }
    }
}

/// Returns why nothing moves across a query.
pub(super) fn of(query: &Query, schema: &Schema, function: &Names) -> Option<String> {
    let is_known = |name: &&String| schema.table(name).is_some() || schema.is_view(name);
    if let Some(name) = query.tables.keys().find(|name| !is_known(name)) {
        return Some(not_defined(name, schema));
    }
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    if let Some(name) = query.tables.keys().find(|name| function.temporary.contains(&last(name))) {
        return Some(format!("`{name}` may be a temporary table, which the function creates"));
    }
    if let (Some(chooses), false) = (&function.chooses, query.tables.is_empty()) {
        return Some(format!("by `{chooses}` the names of tables may mean others"));
    }
    if let Some(wrong) = &query.wrong_column {
        return Some(wrong.clone());
    }
    schema.reached_by(query).iter().find_map(|name| {
        let table = schema.table(name)?;
        Some(format!("`{name}` {}", table.outside.as_ref()?))
    })
}

/// Returns the message that the schema does not define a table.
fn not_defined(name: &str, schema: &Schema) -> String {
    let known = schema.tables.keys().chain(schema.views.keys());
    let hint = match names::nearest(name, known.map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if name.contains('.') => {
            "; if it is the table without that prefix, write its DDL with the prefix".to_owned()
        }
        None => String::new(),
    };
    format!("the schema does not define `{name}`{hint}")
}
