//! Names of tables, columns and functions, in the form in which they are compared.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use crate::api::Server;

/// The names of the number of a row of SQLite, unless a column has them.
pub(crate) const ROWID: [&str; 3] = ["rowid", "oid", "_rowid_"];

/// The number of bytes of a name that PostgreSQL compares.
const POSTGRESQL_LENGTH: usize = 63;

/// Returns a name in the form in which it is compared. PostgreSQL compares quoted names as they
/// are; MySQL compares columns without regard to case even if they are quoted, and tables on some
/// systems; SQLite compares no name with regard to case.
pub(crate) fn fold(name: &str, quoted: bool, server: Server) -> String {
    match server {
        Server::Postgresql if quoted => shorten(name.to_owned()),
        Server::Postgresql => shorten(name.to_ascii_lowercase()),
        Server::Mysql => name.to_lowercase(),
        Server::Sqlite => name.to_ascii_lowercase(),
    }
}

/// Returns what PostgreSQL keeps of a name.
fn shorten(mut name: String) -> String {
    if name.len() > POSTGRESQL_LENGTH {
        let end = (0..=POSTGRESQL_LENGTH).rev().find(|&end| name.is_char_boundary(end));
        name.truncate(end.unwrap_or(0));
    }
    name
}

/// Returns an identifier in the form in which it is compared.
pub(crate) fn identifier(ident: &Ident, server: Server) -> String {
    fold(&ident.value, ident.quote_style.is_some(), server)
}

/// Returns the parts of a name, the last one being the object's own; `None` if a part is an
/// expression, which none of the servers has.
pub(crate) fn parts(name: &ObjectName, server: Server) -> Option<Vec<String>> {
    let part = |part: &ObjectNamePart| part.as_ident().map(|ident| identifier(ident, server));
    name.0.iter().map(part).collect()
}

/// Returns the name of a function. A prefix stays, since a function of that name and another
/// prefix is another function; only that of the built-in functions goes.
pub(crate) fn function(parts: &[String]) -> String {
    match parts {
        [prefix, name] if prefix == "pg_catalog" => name.clone(),
        _ => parts.join("."),
    }
}

/// Returns the name that is spelt most like another: at most a third of its letters, and at most
/// three, are missing, added or different.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.chars().count() / 3).clamp(1, 3);
    let all = known.map(|one| (distance(name, one), one));
    all.filter(|(distance, _)| *distance <= limit).min().map(|(_, one)| one)
}

/// Returns the number of letters that must be added, removed or replaced to make one name of
/// another (Levenshtein's distance).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_postgresql_keeps_the_case_of_quoted_names() {
        assert_eq!(fold("Stock", true, Server::Postgresql), "Stock");
        assert_eq!(fold("Stock", false, Server::Postgresql), "stock");
        assert_eq!(fold("Stock", true, Server::Mysql), "stock");
        assert_eq!(fold("Stock", true, Server::Sqlite), "stock");
    }

    #[test]
    fn long_names_are_cut_at_a_character() {
        let long = "é".repeat(40);
        assert_eq!(fold(&long, false, Server::Postgresql), "é".repeat(31));
        assert_eq!(fold(&long, false, Server::Mysql), long);
    }

    #[test]
    fn nearest_name_differs_in_few_letters() {
        let known = ["c_name", "c_visits", "id"];
        let near = |name| nearest(name, known.into_iter());
        assert_eq!(near("c_nme"), Some("c_name"));
        assert_eq!(near("c_visit"), Some("c_visits"));
        assert_eq!(near("c_total"), None);
        assert_eq!(near("i"), Some("id"));
        assert_eq!(near(""), None);
    }
}
