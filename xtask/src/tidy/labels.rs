//! Labels of invariants: `FLUSH-2` is the second invariant of the flusher. Each is defined once in
//! the project, with the name of its module, and each citation names a label that is defined.
//!
//! A definition is an item of a list in a comment, or an item or the first cell of a row in a
//! document: `//! - FLUSH-2. A write that …`. A citation is a label with the module name of some
//! definition, anywhere in a source or a document.

use std::collections::{BTreeMap, BTreeSet};

use super::{Text, Violation, violation};

/// Documents that are history: they cite labels as they were.
const HISTORY: &[&str] = &["docs/decisions/", "CHANGELOG.md"];
/// Files that contain labels in order to define or to test this check.
const OWN: &str = "xtask/src/tidy/labels.rs";

/// A label in a text.
struct Label<'a> {
    line: usize,
    /// The name of the module, without the number.
    module: &'a str,
    label: &'a str,
}

/// Checks the sources and documents of the whole project.
pub(crate) fn check(texts: &[Text]) -> Vec<Violation> {
    let is_checked = |text: &&Text| {
        let is_text = text.path.ends_with(".rs") || text.path.ends_with(".md");
        is_text && text.path != OWN && !HISTORY.iter().any(|path| text.path.starts_with(path))
    };
    let texts: Vec<&Text> = texts.iter().filter(is_checked).collect();
    let mut found = Vec::new();
    let mut defined: BTreeMap<&str, &str> = BTreeMap::new();
    for text in &texts {
        for (index, line) in text.text.lines().enumerate() {
            let Some(label) = definition(&text.path, line) else { continue };
            if module_of(label).is_none() {
                let message = format!("the label `{label}` lacks the name of its module");
                found.push(violation(&text.path, index + 1, message));
            } else if let Some(first) = defined.insert(label, &text.path) {
                let message = format!("the label `{label}` is defined in {first}, too");
                found.push(violation(&text.path, index + 1, message));
            }
        }
    }
    let modules: BTreeSet<&str> = defined.keys().filter_map(|label| module_of(label)).collect();
    for text in &texts {
        for Label { line, module, label } in labels(&text.text) {
            if modules.contains(module) && !defined.contains_key(label) {
                let message = format!("no invariant has the label `{label}`");
                found.push(violation(&text.path, line, message));
            }
        }
    }
    found
}

/// Returns the label that a line defines; a label without a module name counts as one.
fn definition<'a>(path: &str, line: &'a str) -> Option<&'a str> {
    let line = line.trim_start();
    let item = match path.ends_with(".md") {
        true => line.strip_prefix("- ").or(line.strip_prefix("| ")),
        false => line.strip_prefix("//! - ").or(line.strip_prefix("/// - ")),
    };
    let item = item?.trim_start_matches('*');
    let label = &item[..length(item)];
    let rest = item[label.len()..].trim_start_matches('*');
    let ends = rest.starts_with(['.', ':']) || path.ends_with(".md") && rest.starts_with(" |");
    (ends && !label.is_empty()).then_some(label)
}

/// Returns the length of the label that a text starts with: capital letters and digits in parts,
/// the last of which ends with a number. Zero if there is none.
fn length(text: &str) -> usize {
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'-';
    let end = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let label = &text[..end];
    let is_label = label.starts_with(|first: char| first.is_ascii_uppercase())
        && label.ends_with(|last: char| last.is_ascii_digit());
    if is_label { end } else { 0 }
}

/// Returns the name of the module in a label, in front of `-` and the number.
fn module_of(label: &str) -> Option<&str> {
    let (module, number) = label.rsplit_once('-')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(module)
}

/// Returns all labels with module names.
fn labels(text: &str) -> Vec<Label<'_>> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut from = 0;
        while let Some(at) = line[from..].find(|first: char| first.is_ascii_uppercase()) {
            let at = from + at;
            let rest = &line[at..];
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            let end = rest.bytes().position(|byte| !is_word(byte)).unwrap_or(rest.len());
            let starts_word = at == 0 || !is_word(line.as_bytes()[at - 1]);
            let label = &rest[..end];
            if starts_word
                && length(label) == label.len()
                && let Some(module) = module_of(label)
            {
                found.push(Label { line: index + 1, module, label });
            }
            from = at + end.max(1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(usize, String)> {
        let text =
            |(path, text): &(&str, &str)| Text { path: (*path).into(), text: (*text).into() };
        let texts: Vec<Text> = files.iter().map(text).collect();
        check(&texts).into_iter().map(|each| (each.line, each.message)).collect()
    }

    #[test]
    fn cited_label_must_be_defined() {
        let log = ("crates/log/src/a.rs", "//! - FLUSH-1. A.\n//! - **FLUSH-2.** B.\n// FLUSH-2\n");
        let document = ("docs/a.md", "| ORACLE-1 | C |\nSee FLUSH-1, ORACLE-1 and UTF-8.\n");
        assert!(found(&[log, document]).is_empty());
        let cites = ("crates/txn/src/a.rs", "fn f() {}\n// As FLUSH-3 says.\n");
        assert_eq!(found(&[log, cites]), [(2, "no invariant has the label `FLUSH-3`".into())]);
        let history = ("docs/decisions/0001-a.md", "As FLUSH-9 says.\n");
        assert!(found(&[log, history]).is_empty());
    }

    #[test]
    fn label_is_defined_once_and_names_its_module() {
        let first = ("crates/log/src/a.rs", "//! - RING-1. A.\n");
        let second = ("crates/log/src/b.rs", "//! - RING-1. B.\n");
        let twice = "the label `RING-1` is defined in crates/log/src/a.rs, too";
        assert_eq!(found(&[first, second]), [(1, twice.into())]);
        let bare = ("crates/log/src/c.rs", "//! - R1. C.\n//! - S-lock: D.\n//! - 1. E.\n");
        assert_eq!(found(&[bare]), [(1, "the label `R1` lacks the name of its module".into())]);
    }
}
