//! Files that nothing refers to, and references to files that are not there.

use std::{collections::BTreeSet, path::Path};

use super::{
    Text, Violation,
    scan::{Source, identifier, words},
    violation,
};

/// Reports files under a `src` folder, or in the folder of a test program of several files, that no
/// `mod` declaration names: no compiler sees them.
pub(crate) fn check_modules(sources: &[Source]) -> Vec<Violation> {
    let declared: BTreeSet<String> = sources.iter().flat_map(declared_modules).collect();
    let programs: Vec<&str> = sources
        .iter()
        .filter(|source| source.path.contains("/tests/"))
        .filter_map(|source| source.path.strip_suffix("main.rs"))
        .collect();
    let is_of_test = |path: &str| {
        let inside = programs.iter().find_map(|folder| path.strip_prefix(folder));
        inside.is_some_and(|inside| inside != "main.rs")
    };
    sources
        .iter()
        .filter(|source| is_module(&source.path) || is_of_test(&source.path))
        .filter(|source| !declared.contains(module_of(&source.path)))
        .map(|source| violation(&source.path, 1, "no `mod` declaration names this file"))
        .collect()
}

/// Reports modules in the form `folder/mod.rs`: a module with parts is `folder.rs` beside
/// `folder/`. A test program's module needs the first form, or it would be a program.
pub(crate) fn check_folder_form(sources: &[Source]) -> Vec<Violation> {
    let is_old = |source: &&Source| is_module(&source.path) && source.path.ends_with("/mod.rs");
    let report = |source: &Source| {
        let path = source.path.replace("/mod.rs", ".rs");
        violation(&source.path, 1, format!("this file belongs to {path}"))
    };
    sources.iter().filter(is_old).map(report).collect()
}

/// Whether a file takes part only if a module declares it.
fn is_module(path: &str) -> bool {
    let Some((_, inside)) = path.split_once("src/") else { return false };
    !matches!(inside, "lib.rs" | "main.rs") && !inside.starts_with("bin/")
}

/// A module's path without the file name's ending: `a/b` for `a/b.rs` and `a/b/mod.rs`.
fn module_of(path: &str) -> &str {
    path.strip_suffix("/mod.rs").or(path.strip_suffix(".rs")).unwrap_or(path)
}

/// The modules that a file declares, as [`module_of`] names them.
fn declared_modules(source: &Source) -> Vec<String> {
    let module = module_of(&source.path);
    let (parent, name) = module.rsplit_once('/').unwrap_or(("", module));
    let is_root = name == "main" || name == "lib" && parent.ends_with("src");
    let folder = if is_root { parent } else { module };
    words(&source.code, "mod")
        .map(|at| identifier(&source.code, at + "mod".len()))
        .map(|name| format!("{folder}/{name}"))
        .collect()
}

/// Reports relative links of a document to files that do not exist.
pub(crate) fn check_links(root: &Path, document: &Text) -> Vec<Violation> {
    let mut found = Vec::new();
    let folder = Path::new(&document.path).parent().unwrap_or(Path::new(""));
    let mut in_fence = false;
    for (index, line) in document.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        }
        if in_fence {
            continue;
        }
        for target in link_targets(line) {
            if !root.join(folder).join(target).exists() {
                let message = format!("broken link to `{target}`");
                found.push(violation(&document.path, index + 1, message));
            }
        }
    }
    found
}

/// The files that a line of a document links to: `[…](target)` and `[…]: target`, without
/// fragments, titles, and addresses elsewhere.
fn link_targets(line: &str) -> Vec<&str> {
    let prose = without_code_spans(line);
    let inline = prose.match_indices("](").map(|(at, _)| at + 2);
    let starts_definition = prose.starts_with('[') && !prose.starts_with("[^");
    let definition = prose.find("]: ").filter(|_| starts_definition).map(|at| at + 3);
    let target = |start: usize| {
        let rest = line[start..].trim_start_matches('<');
        let end = rest.find([')', ' ', '>', '#']).unwrap_or(rest.len());
        &rest[..end]
    };
    let is_file = |target: &&str| {
        !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
    };
    inline.chain(definition).map(target).filter(is_file).collect()
}

/// The line with the contents of `code spans` blanked, byte for byte.
fn without_code_spans(line: &str) -> String {
    let mut in_span = false;
    let blank = |byte: u8| {
        if byte == b'`' {
            in_span = !in_span;
        }
        // A stray backtick starts no span worth keeping; links after it are not checked.
        if in_span || !byte.is_ascii() { b' ' } else { byte }
    };
    let bytes: Vec<u8> = line.bytes().map(blank).collect();
    String::from_utf8(bytes).expect("only ASCII is kept")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_no_module_names_are_reported() {
        let source = |path: &str, text: &str| Source::new(path, text);
        let sources = [
            source("crates/a/src/lib.rs", "mod b;\n// mod lost;\n#[cfg(test)]\nmod tests;\n"),
            source("crates/a/src/b.rs", "pub(crate) mod c;\n"),
            source("crates/a/src/b/c.rs", ""),
            source("crates/a/src/tests.rs", ""),
            source("crates/a/src/lost.rs", "mod found_by_lost;\n"),
            source("crates/a/src/c.rs", ""),
            source("crates/a/src/bin/tool.rs", ""),
            source("crates/a/tests/whole.rs", ""),
            source("crates/a/tests/api/main.rs", "mod named;\n"),
            source("crates/a/tests/api/named.rs", "mod part;\n"),
            source("crates/a/tests/api/named/part.rs", ""),
            source("crates/a/tests/api/unnamed.rs", "#[test]\nfn f() {}\n"),
            source("crates/e/src/main.rs", "mod d;\n"),
            source("crates/e/src/d/mod.rs", "mod f;\n"),
            source("crates/e/src/d/f.rs", ""),
        ];
        let found: Vec<String> = check_modules(&sources).into_iter().map(|v| v.path).collect();
        let unnamed = "crates/a/tests/api/unnamed.rs";
        assert_eq!(found, ["crates/a/src/lost.rs", "crates/a/src/c.rs", unnamed]);
    }

    #[test]
    fn broken_links_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("docs")).unwrap();
        std::fs::write(dir.path().join("docs/there.md"), "").unwrap();
        let text = "[a](there.md) [b](there.md#part \"title\") [c](../docs/there.md)\n\
                    [d](https://example.org/gone.md) [e](#part) `[f](code.md)`\n\
                    [g](gone.md) and é [h](../gone/)\n\
                    ```\n[i](fenced.md)\n```\n\
                    [j]: gone.md\n\
                    [k]: <there.md>\n";
        let path = "docs/x.md".to_string();
        let found = check_links(dir.path(), &Text { path, text: text.to_string() });
        let lines: Vec<usize> = found.iter().map(|violation| violation.line).collect();
        assert_eq!(lines, [3, 3, 7]);
        assert_eq!(found[1].message, "broken link to `../gone/`");
    }
}
