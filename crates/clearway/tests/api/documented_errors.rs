//! The `# Errors` sections of the public calls, read from the sources, agree with the test kit's
//! table of errors.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clearway::ErrorKind;
use clearway_testkit::errors::{CALLS, Call};

/// A public method that returns a `Result`, and its documentation.
struct Method {
    name: String,
    documentation: String,
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && path.file_name().is_some_and(|name| name != "tests.rs")
        {
            found.push(path);
        }
    }
}

/// Returns the name of the type that an `impl` line is for.
fn implemented(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    // Generic parameters come first; their bounds may have parameters, too.
    let mut depth = 0;
    let end = rest.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    });
    let rest = if rest.starts_with('<') { &rest[end? + 1..] } else { rest };
    let subject = rest.rsplit_once(" for ").map_or(rest, |(_, subject)| subject);
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    Some(subject.trim().chars().take_while(|c| is_name(*c)).collect())
}

/// Returns the public methods of a source that return a `Result`.
fn methods(text: &str) -> Vec<Method> {
    let (mut found, mut owner, mut documentation) = (Vec::new(), String::new(), String::new());
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if let Some(name) = implemented(line) {
            owner = name;
        }
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            documentation += text.trim();
            documentation.push('\n');
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let declarations = ["pub fn ", "pub const fn ", "pub async fn "];
        let declared = declarations.iter().find_map(|words| line.strip_prefix(words));
        if let Some(declared) = declared {
            let signature = lines[at..].iter().map(|line| line.trim());
            let signature: Vec<&str> = signature.take_while(|line| !line.ends_with('}')).collect();
            let signature = signature.join(" ");
            let signature = signature.split(['{', ';']).next().unwrap_or_default();
            let returns = signature.rsplit_once("->").map_or("", |(_, returned)| returned);
            let is_name = |c: &char| c.is_alphanumeric() || *c == '_';
            let name: String = declared.chars().take_while(is_name).collect();
            // The last arrow may be that of a closure among the arguments.
            let is_own = returns.matches('(').count() >= returns.matches(')').count();
            if is_own && returns.contains("Result<") {
                let name = format!("{owner}::{name}");
                found.push(Method { name, documentation: documentation.clone() });
            }
        }
        documentation.clear();
    }
    found
}

fn all_methods() -> Vec<Method> {
    let mut files = Vec::new();
    // The variable names the sources of another tree, if they are to be checked.
    let root = std::env::var_os("CLEARWAY_SOURCES")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), PathBuf::from);
    sources(&root, &mut files);
    files.iter().flat_map(|file| methods(&fs::read_to_string(file).unwrap())).collect()
}

impl Method {
    /// Returns the section on errors, up to the next heading.
    fn section(&self) -> Option<&str> {
        let (_, section) = self.documentation.split_once("# Errors\n")?;
        Some(section.split("\n# ").next().unwrap_or(section))
    }

    /// Returns the variants of `Error` that the section names for this call: all but those after an
    /// "except", up to the end of the clause.
    fn variants(&self) -> Vec<String> {
        let section = self.section().unwrap_or_default().replace('\n', " ");
        let mut parts = section.split("except ");
        let first = parts.next().unwrap_or_default();
        let clauses = parts.map(|part| part.find(['.', ';']).map_or("", |end| &part[end..]));
        let text = std::iter::once(first).chain(clauses).collect::<Vec<_>>().concat();
        let named = text.split("Error::").skip(1);
        let is_name = |c: &char| c.is_alphanumeric();
        named.map(|rest| rest.chars().take_while(is_name).collect()).collect()
    }

    /// Whether the section refers to the errors of another call, of a closure or of the disk.
    fn refers(&self) -> bool {
        let section = self.section().unwrap_or_default();
        ["hose of", "he errors of", "ther errors of", "As of", "As for"]
            .iter()
            .any(|words| section.contains(words))
    }
}

#[test]
fn every_call_that_can_fail_is_documented_and_in_the_table() {
    let mut wrong = Vec::new();
    for method in all_methods() {
        if method.section().is_none() {
            wrong.push(format!("{} has no section `# Errors`", method.name));
        }
        if Call::named(&method.name).is_none() {
            wrong.push(format!("{} is not in crates/testkit/src/errors.rs", method.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn documentation_and_table_name_the_same_errors() {
    let mut wrong = Vec::new();
    for method in all_methods() {
        let (Some(call), Some(_)) = (Call::named(&method.name), method.section()) else { continue };
        let named = method.variants();
        for variant in named.iter().filter(|variant| !call.may_name(variant)) {
            wrong.push(format!("{} names {variant}, which the table does not list", method.name));
        }
        let missing = call.own.iter().filter(|own| !named.iter().any(|name| name == *own));
        for own in missing.filter(|_| !method.refers()) {
            wrong.push(format!("{} may return {own}, and does not say so", method.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_table_has_no_call_that_is_gone() {
    let methods = all_methods();
    let is_there = |call: &&Call| methods.iter().any(|method| method.name == call.name);
    let gone: Vec<_> = CALLS.iter().filter(|call| !is_there(call)).map(|call| call.name).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn the_catalogue_has_a_row_for_each_kind_of_error() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let page = fs::read_to_string(page).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let named: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('`')).collect();
    let kinds: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(named, kinds);
    for row in rows {
        assert!(row.len() == 4 && row.iter().all(|cell| !cell.is_empty()), "{row:?}");
    }
}
