//! Types with parts: composite types, ranges and the row types of tables. Where the server makes a
//! value of such a type, it checks the domains of its parts.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::{
    cursor::Cursor,
    implicit::last_of_type,
    resolve::Builder,
    table::{Message, not_understood},
};
use crate::sql::functions;

/// The checks that the server makes of a value of a type.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Checked {
    /// The functions that the constraints of the domains call.
    pub functions: BTreeSet<String>,
    /// True if there is a constraint.
    pub checks: bool,
    /// True if the name is that of a table as well, which most texts mean by it.
    pub is_table: bool,
}

impl Builder {
    /// Notes the names in the definition of a type, whose `CREATE TYPE` or `ALTER TYPE` stands
    /// before the place.
    pub(super) fn note_type(&mut self, mut part: Cursor<'_>) -> Result<(), Message> {
        let whole = part;
        let name = part.parts().and_then(|mut parts| parts.pop());
        let name = name.ok_or_else(|| not_understood(&whole))?.to_lowercase();
        let range = part.is(&["AS", "RANGE"]);
        let words: BTreeSet<String> = words(part.rest()).collect();
        if range {
            // The server makes a type of several ranges beside it.
            let of_name = match name.contains("range") {
                true => name.replacen("range", "multirange", 1),
                false => format!("{name}_multirange"),
            };
            let named = multirange(part.rest()).unwrap_or(of_name);
            self.types.entry(named).or_default().insert(name.clone());
        }
        self.types.entry(name).or_default().extend(words);
        Ok(())
    }

    /// Finds the constraints of the domains within types, once the domains are resolved.
    pub(super) fn resolve_types(&mut self) {
        let mut parts = self.types.clone();
        for (name, table) in &self.schema.tables {
            let types = table.columns.iter().map(|column| last_of_type(&column.ty));
            let of_type = table.of_type.iter().cloned();
            parts.entry(last_of_type(name)).or_default().extend(types.chain(of_type));
        }
        for (name, domain) in &self.schema.domains {
            parts.entry(name.clone()).or_default().insert(domain.base.clone());
        }
        let domains = self.schema.domains.iter().map(|(name, domain)| {
            let (functions, checks) = (domain.functions.clone(), domain.checks);
            (name.clone(), Checked { functions, checks, is_table: false })
        });
        let mut found: BTreeMap<String, Checked> = domains.collect();
        loop {
            let before = found.clone();
            for (name, parts) in &parts {
                let inner: Vec<&Checked> = parts.iter().filter_map(|one| before.get(one)).collect();
                if inner.iter().any(|one| one.checks || !one.functions.is_empty()) {
                    let whole = found.entry(name.clone()).or_default();
                    whole.checks |= inner.iter().any(|one| one.checks);
                    whole.functions.extend(inner.into_iter().flat_map(|one| one.functions.clone()));
                }
            }
            if found == before {
                break;
            }
        }
        for name in self.schema.tables.keys() {
            if let Some(checked) = found.get_mut(&last_of_type(name)) {
                checked.is_table = true;
            }
        }
        self.check_columns_of_types(&found);
        self.schema.types = found;
    }

    /// Gives tables the constraints within the types of their columns; those of domains themselves
    /// they have.
    fn check_columns_of_types(&mut self, found: &BTreeMap<String, Checked>) {
        let domains = &self.schema.domains;
        for table in self.schema.tables.values_mut() {
            let types = table.columns.iter().map(|column| last_of_type(&column.ty));
            let types: Vec<String> = types.chain(table.of_type.iter().cloned()).collect();
            for name in &types {
                let Some(checked) = found.get(name) else { continue };
                let counted = domains.get(name).is_some_and(|domain| domain.checks);
                table.functions.extend(checked.functions.iter().cloned());
                table.checks += usize::from(checked.checks && !counted);
            }
        }
    }

    /// Returns the functions that the server calls for values of the types that tokens name.
    pub(super) fn functions_of_types(&self, tokens: &[TokenWithSpan]) -> BTreeSet<String> {
        let types = words(tokens).filter_map(|word| self.schema.types.get(&word));
        types.flat_map(|checked| checked.functions.iter().cloned()).collect()
    }

    /// Returns the functions of the program's own that the server calls where a row of a table
    /// changes: those of its constraints and defaults.
    pub(super) fn functions_of_table(&self, name: &str) -> BTreeSet<String> {
        let Some(table) = self.schema.tables.get(name) else { return BTreeSet::new() };
        let defaults = table.columns.iter().flat_map(|column| &column.default_functions);
        let all = table.functions.iter().chain(defaults);
        all.filter(|name| !functions::is_built_in(name)).cloned().collect()
    }
}

/// Returns the words of tokens, in lower case.
fn words(tokens: &[TokenWithSpan]) -> impl Iterator<Item = String> {
    tokens.iter().filter_map(|token| match &token.token {
        Token::Word(word) => Some(word.value.to_lowercase()),
        _ => None,
    })
}

/// Returns the name in `MULTIRANGE_TYPE_NAME = name`.
fn multirange(tokens: &[TokenWithSpan]) -> Option<String> {
    let mut words = words(tokens).skip_while(|word| word != "multirange_type_name");
    words.nth(1)
}
