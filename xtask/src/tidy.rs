//! The house rules as a test.
//!
//! | module | what it checks |
//! | --- | --- |
//! | [`sizes`] | length of lines, files and functions |
//! | [`layers`] | dependencies allowed between crates |
//! | [`modules`] | dependency cycles of modules |
//! | [`boundaries`] | crates that may name `std::fs`, atomics and `unsafe`; safety arguments |
//! | [`product`] | planted bugs, names of variants, features inside of functions |
//! | [`types`] | names of types: unique in the engine |
//! | [`words`] | names, unfinished work, module heads, the glossary |
//! | [`labels`] | labels of invariants: unique, and those that are cited exist |
//! | [`needs`] | the table of needs and drivers: the tests that it names exist |
//! | [`language`] | words that have a better one, doc comments that open with a clause |
//! | [`files`] | files that no module names; links between documents |
//! | [`mutants`] | patch files of planted bugs that do not apply, alone or together |
//!
//! The checks read text, not syntax trees: they are meant to be quick, to need no dependency, and
//! to be right about code that `rustfmt` has formatted.

mod boundaries;
mod files;
mod labels;
mod language;
mod layers;
mod modules;
mod needs;
mod product;
mod scan;
mod sizes;
mod types;
mod words;

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use crate::mutants;
use scan::Source;

/// One broken rule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Violation {
    path: String,
    line: usize,
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

fn violation(path: &str, line: usize, message: impl Into<String>) -> Violation {
    Violation { path: path.to_string(), line, message: message.into() }
}

/// The findings of all checks.
pub(crate) struct Report {
    pub(crate) violations: Vec<Violation>,
    pub(crate) summary: String,
}

/// A text file of the repository, with its path from the root.
pub(crate) struct Text {
    path: String,
    text: String,
}

/// Runs every check on the repository at `root`.
pub(crate) fn check(root: &Path) -> io::Result<Report> {
    let texts = read_all(root)?;
    let sources = sources(&texts);
    let mut violations = Vec::new();
    for source in &sources {
        violations.extend(sizes::check_file(source));
        violations.extend(boundaries::check(source));
        violations.extend(product::check(source));
        violations.extend(words::check_source(source));
    }
    violations.extend(sizes::check_functions(&sources));
    violations.extend(files::check_modules(&sources));
    violations.extend(files::check_folder_form(&sources));
    violations.extend(types::check(&sources));
    violations.extend(modules::check(&sources));
    for text in &texts {
        if text.path.ends_with("Cargo.toml") {
            violations.extend(layers::check(text));
        }
        if text.path.ends_with(".md") {
            violations.extend(files::check_links(root, text));
            violations.extend(sizes::check_document(text));
        }
        if text.path == words::GLOSSARY {
            violations.extend(words::check_glossary(text));
        }
    }
    violations.extend(labels::check(&texts));
    violations.extend(needs::check(&texts));
    let faults = mutants::check(root)?;
    violations.extend(faults.iter().map(|fault| violation(&fault.path, 1, &*fault.message)));
    violations.extend(check_language(&texts, &sources));
    violations.sort();
    violations.dedup();
    let summary = summary(&sources, &violations);
    Ok(Report { violations, summary })
}

/// Lists what breaks the rules of the language in the crate `area`, or everywhere.
pub(crate) fn language_violations(root: &Path, area: Option<&str>) -> io::Result<Vec<Violation>> {
    let texts = read_all(root)?;
    let mut found = check_language(&texts, &sources(&texts));
    found.retain(|each| area.is_none_or(|area| language::area(&each.path) == area));
    found.sort();
    Ok(found)
}

fn check_language(texts: &[Text], sources: &[Source]) -> Vec<Violation> {
    let in_sources = sources.iter().flat_map(language::check_source);
    let documents = texts.iter().filter(|text| text.path.ends_with(".md"));
    in_sources.chain(documents.flat_map(language::check_document)).collect()
}

fn sources(texts: &[Text]) -> Vec<Source> {
    let rust = texts.iter().filter(|text| text.path.ends_with(".rs"));
    rust.map(|text| Source::new(&text.path, &text.text)).collect()
}

fn summary(sources: &[Source], violations: &[Violation]) -> String {
    let lines: usize = sources.iter().map(Source::line_count).sum();
    let functions: usize = sources.iter().map(|source| sizes::functions(source).len()).sum();
    format!(
        "{} Rust files, {lines} lines, {functions} functions, {} violations",
        sources.len(),
        violations.len()
    )
}

/// Reads the files that the checks look at, sorted by path.
fn read_all(root: &Path) -> io::Result<Vec<Text>> {
    let mut texts = Vec::new();
    let mut pending: Vec<PathBuf> = vec![root.to_path_buf()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let skipped = name.starts_with('.') || name.starts_with("target");
            if entry.file_type()?.is_dir() {
                if !skipped {
                    pending.push(entry.path());
                }
            } else if [".rs", ".md", "Cargo.toml"].iter().any(|end| name.ends_with(end)) {
                let path = entry.path();
                let inside = path.strip_prefix(root).unwrap_or(&path);
                let text = fs::read_to_string(&path)?;
                texts.push(Text { path: inside.to_string_lossy().replace('\\', "/"), text });
            }
        }
    }
    texts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_runs_on_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "crates/log/src/lib.rs",
            &format!("//! How it logs.\n\nuse std::fs;\n//{}\n", "x".repeat(99)),
        );
        write("crates/log/src/lost.rs", "fn f() {}\n");
        write(
            "crates/log/Cargo.toml",
            "name = \"clearway-log\"\n[dependencies]\nclearway-tree = 1\n",
        );
        write("docs/glossary.md", "**page**: a\n\n**page**: b\n[gone](gone.md)\n");
        write("target/x.rs", "use std::fs;\n");
        let report = check(dir.path()).unwrap();
        let found: Vec<String> =
            report.violations.iter().map(|v| format!("{}:{}", v.path, v.line)).collect();
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md:1",
                "crates/log/Cargo.toml:3",
                "crates/log/src/lib.rs:1",
                "crates/log/src/lib.rs:3",
                "crates/log/src/lib.rs:4",
                "crates/log/src/lost.rs:1",
                "crates/log/src/lost.rs:1",
                "docs/glossary.md:3",
                "docs/glossary.md:4",
            ]
        );
        assert!(report.summary.contains("2 Rust files"), "{}", report.summary);
        let shown = report.violations[1].to_string();
        assert!(shown.starts_with("crates/log/Cargo.toml:3: "), "{shown}");
    }
}
