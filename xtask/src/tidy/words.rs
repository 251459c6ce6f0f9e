//! Names and words: bad names, unfinished work, missing module heads, and terms that the glossary
//! defines twice.

use std::collections::BTreeMap;

use super::{
    Text, Violation,
    scan::{Source, identifier, words},
    violation,
};

/// The document that defines the project's terms.
pub(crate) const GLOSSARY: &str = "docs/glossary.md";

/// Names of catch-all files; each piece of code belongs in a file named after its purpose.
const FILE_NAMES: &[&str] = &["utils.rs", "util.rs", "helpers.rs", "common.rs", "misc.rs"];
/// Suffixes without information; a type name states what the thing is.
const TYPE_SUFFIXES: &[&str] = &["Manager", "Impl", "Helper", "Helpers", "Utils"];
/// A latch is physical and a lock logical: names that mix the two up, in lower case.
const TYPE_WORDS: &[&str] = &[
    "mutexlock",
    "spinlock",
    "latchlock",
    "locklatch",
    "pagelock",
    "nodelock",
    "framelock",
    "bucketlock",
    "keylatch",
    "rowlatch",
    "recordlatch",
];
/// Marks of unfinished work, in comments.
const COMMENT_MARKS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];
/// Marks of unfinished work, in code.
const CODE_MARKS: &[&str] = &["dbg!", "todo!", "unimplemented!"];
/// Crates whose every module opens with its documentation.
const DOCUMENTED_CRATES: &[&str] = &["sync", "log", "lock", "pool", "tree"];

pub(crate) fn check_source(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut report = |line, message: String| found.push(violation(&source.path, line, message));
    let file_name = source.path.rsplit('/').next().unwrap_or_default();
    if FILE_NAMES.contains(&file_name) {
        report(1, format!("`{file_name}` says nothing: name the file after what it does"));
    }
    let in_documented = source.crate_name().is_some_and(|name| DOCUMENTED_CRATES.contains(&name));
    if in_documented && !source.text.starts_with("//!") {
        report(1, "a module of this crate starts with `//!`: what it is".to_string());
    }
    for mark in COMMENT_MARKS {
        for at in words(&source.comments, mark) {
            report(source.line_of(at), format!("`{mark}` in a comment: do it or open an issue"));
        }
    }
    for mark in CODE_MARKS {
        for (at, _) in source.code.match_indices(mark) {
            let called = !source.code[..at].ends_with(|c: char| c == '_' || c.is_alphanumeric());
            if called {
                report(source.line_of(at), format!("`{mark}` in the code"));
            }
        }
    }
    for keyword in ["struct", "enum", "trait", "type", "union"] {
        for at in words(&source.code, keyword) {
            let name = identifier(&source.code, at + keyword.len());
            if let Some(reason) = bad_type_name(name) {
                report(source.line_of(at), format!("type name `{name}`: {reason}"));
            }
        }
    }
    found
}

/// Returns the fault of a type name, if it has one.
fn bad_type_name(name: &str) -> Option<String> {
    let suffix = TYPE_SUFFIXES.iter().find(|suffix| name.ends_with(*suffix));
    if let Some(suffix) = suffix {
        return Some(format!("`{suffix}` says nothing about it"));
    }
    let lower = name.replace('_', "").to_lowercase();
    let word = TYPE_WORDS.iter().find(|word| lower.contains(*word))?;
    Some(format!("`{word}` mixes up latch (physical) and lock (transactional)"))
}

/// Each term of the glossary, `**term**` at the start of a line, is defined once.
pub(crate) fn check_glossary(glossary: &Text) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut lines = BTreeMap::new();
    for (index, line) in glossary.text.lines().enumerate() {
        let line = line.trim_start();
        let line =
            ["- ", "* ", "| "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        let Some((term, _)) = line.strip_prefix("**").and_then(|rest| rest.split_once("**")) else {
            continue;
        };
        if let Some(first) = lines.insert(term.to_lowercase(), index + 1) {
            let message = format!("**{term}** is defined in line {first} already");
            found.push(violation(&glossary.path, index + 1, message));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let found = check_source(&Source::new(path, text));
        found.iter().map(|violation| violation.to_string()).collect()
    }

    #[test]
    fn unfinished_work_is_reported() {
        for text in [
            "// TODO: later\n",
            "/// FIXME\nfn f() {}\n",
            "fn f() { dbg!(1); }\n",
            "fn f() { todo!(\"x\") }\n",
            "fn f() { std::unimplemented!() }\n",
        ] {
            assert_eq!(messages("x.rs", text).len(), 1, "{text}");
        }
        let innocent = "// TODOS\nfn f() { g(\"TODO dbg!(x)\"); not_todo!() }\n";
        assert!(messages("x.rs", innocent).is_empty());
    }

    #[test]
    fn names_that_say_nothing_are_reported() {
        for text in [
            "struct LockManager;\n",
            "pub(crate) struct DiskImpl<T>(T);\n",
            "enum PageLock { A }\n",
            "trait MutexLock {}\n",
            "type RowLatchGuard = u8;\n",
        ] {
            assert_eq!(messages("x.rs", text).len(), 1, "{text}");
        }
        let innocent =
            "struct LockTable;\nimpl Manager for X {}\nstruct SpinLatch;\nstruct Block;\n";
        assert!(messages("x.rs", innocent).is_empty());
        for name in ["utils.rs", "helpers.rs", "common.rs"] {
            assert_eq!(messages(&format!("crates/disk/src/{name}"), "").len(), 1, "{name}");
        }
    }

    #[test]
    fn modules_without_a_head_are_reported() {
        let text = "use std::fmt;\n";
        assert_eq!(messages("crates/log/src/ring.rs", text).len(), 1);
        assert!(messages("crates/log/src/ring.rs", "//! A ring.\n").is_empty());
        assert!(messages("crates/cli/src/main.rs", text).is_empty());
    }

    #[test]
    fn terms_defined_twice_are_reported() {
        let lines = |text: &str| -> Vec<usize> {
            let path = GLOSSARY.to_string();
            let found = check_glossary(&Text { path, text: text.to_string() });
            found.iter().map(|violation| violation.line).collect()
        };
        assert_eq!(
            lines("**latch**: physical\n\n- **lock**: a\n\n**Latch**: b\n* **lock**: c\n"),
            [5, 6]
        );
        assert!(lines("**latch**: not a **lock**\n**lock**: not a **latch**\n").is_empty());
    }
}
