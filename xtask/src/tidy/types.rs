//! Names of types: each is used once in the engine, so that a name says which type it is.

use std::collections::BTreeMap;

use super::{
    Violation,
    scan::{Source, identifier, words},
    violation,
};

/// The crates of the engine.
const ENGINE: &[&str] = &["base", "sync", "disk", "pool", "log", "lock", "tree", "txn", "clearway"];
/// Types of the engine's interface that stand for the inner type of the same name.
const FACADE: &[&str] = &["Cursor", "Table", "Transaction"];
/// The words that declare a type.
const DECLARATIONS: &[&str] = &["struct", "enum", "trait", "type", "union"];

/// A declaration of a type.
struct Declaration<'a> {
    name: &'a str,
    path: &'a str,
    line: usize,
}

/// Reports names that two types of the engine have. Tests and models may use any names.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    let mut first: BTreeMap<&str, &str> = BTreeMap::new();
    let mut found = Vec::new();
    let engine = sources.iter().filter(|source| is_engine(source));
    for Declaration { name, path, line } in engine.flat_map(declarations) {
        let is_facade = FACADE.contains(&name) && path.starts_with("crates/clearway/");
        match first.get(name) {
            _ if is_facade => {}
            None => {
                first.insert(name, path);
            }
            // One file declares a type twice for two configurations.
            Some(other) if *other == path => {}
            Some(other) => {
                let message = format!("a type `{name}` is declared in {other}, too");
                found.push(violation(path, line, message));
            }
        }
    }
    found
}

fn is_engine(source: &Source) -> bool {
    let is_engine = source.crate_name().is_some_and(|name| ENGINE.contains(&name));
    let is_model = source.path.split('/').any(|part| matches!(part, "models" | "models.rs"));
    is_engine && !is_model && !source.is_test_file()
}

/// Returns the types that a module declares, without those in functions, traits and
/// implementations.
fn declarations(source: &Source) -> Vec<Declaration<'_>> {
    let mut found = Vec::new();
    for word in DECLARATIONS {
        for at in words(&source.code, word) {
            let name = identifier(&source.code, at + word.len());
            let line_start = source.code[..at].rfind('\n').map_or(0, |end| end + 1);
            let is_outer = !source.code[line_start..].starts_with(' ');
            if is_outer && !name.is_empty() && !source.is_test(at) {
                found.push(Declaration { name, path: &source.path, line: source.line_of(at) });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(sources: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = sources.iter().map(|(path, text)| Source::new(path, text)).collect();
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn second_type_of_a_name_is_reported() {
        let one = ("crates/log/src/ring.rs", "pub(crate) struct Region {}\n");
        let two = ("crates/pool/src/region.rs", "//! Memory.\n\nenum Region { A }\n");
        assert_eq!(
            messages(&[one, two]),
            ["crates/pool/src/region.rs:3: a type `Region` is declared in \
                 crates/log/src/ring.rs, too"]
        );
        assert!(messages(&[one]).is_empty());
    }

    #[test]
    fn associated_types_tests_models_and_the_facade_are_not() {
        let one = ("crates/txn/src/table.rs", "pub struct Table;\n");
        let facade = ("crates/clearway/src/table.rs", "pub struct Table;\n");
        let test = ("crates/log/tests/a.rs", "struct Table;\n");
        let model = ("crates/log/src/ring/models.rs", "struct Table;\n");
        let inner = ("crates/log/src/log.rs", "trait Log {\n    type Table;\n}\n");
        let tool = ("crates/lab/src/table.rs", "struct Table;\n");
        assert!(messages(&[one, facade, test, model, inner, tool]).is_empty());
    }
}
