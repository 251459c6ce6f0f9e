use super::*;

/// The lines with a finding.
fn found_in(text: &str) -> Vec<usize> {
    let found = check_source(&Source::new("crates/log/src/x.rs", text));
    found.iter().map(|each| each.line).collect()
}

#[test]
fn files_belong_to_the_areas_of_their_crates() {
    assert_eq!(area("crates/log/src/ring.rs"), "log");
    assert_eq!(area("xtask/src/main.rs"), "xtask");
    assert_eq!(area("docs/testing.md"), "docs");
    assert_eq!(area("README.md"), "docs");
}

#[test]
fn listed_words_are_found_in_comments_literals_and_names() {
    for text in [
        "// whoever waits\n",
        "/// Nobody waits.\nfn f() {}\n",
        "fn f() { g(\"is told\") }\n",
        "fn is_crowded() {}\n",
        "struct BoardOfWaits;\n",
        "const KEEP_FROM: u8 = 0;\n",
        "// at most so\n// many\n",
    ] {
        assert_eq!(found_in(text), [1], "{text}");
    }
    for text in [
        "// an in-flight flush\n",
        "// transactions in flight\n",
        "fn in_flight() {}\n",
        "// to keep it from her\n// keep from\n",
        "// not so. Many wait.\n",
        "// a keyboard, the history, this\n",
        "fn so_many() {}\n",
    ] {
        assert!(found_in(text).is_empty(), "{text}");
    }
}

#[test]
fn listed_words_are_found_in_documents_with_their_lines() {
    let (path, text) = ("docs/x.md".to_string(), "One.\n\nIt tells\nthe doors.\n".to_string());
    let found = check_document(&Text { path, text });
    assert_eq!(found.iter().map(|each| each.line).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn doc_comments_that_open_with_a_clause_are_found() {
    for text in [
        "/// What it holds.\nstruct S;\n",
        "//! How it works.\n",
        "struct S {\n    /// Who has it.\n    a: u8,\n}\n",
        "/// Answers what it holds.\nfn f() {}\n",
        "/// Whether it is full.\nfn f(x: bool) -> u8 {}\n",
        "/// Whether it is full.\nenum E { A(bool) }\n",
    ] {
        assert_eq!(found_in(text).len(), 1, "{text}");
    }
    for text in [
        "/// Returns what it holds.\n/// What it holds, is little.\nfn f() {}\n",
        "// What it holds.\nstruct S;\n",
        "const S: &str = \"\n/// What it holds.\n\";\n",
    ] {
        assert!(found_in(text).is_empty(), "{text}");
    }
}

#[test]
fn booleans_may_be_described_by_whether() {
    for text in [
        "/// Whether it is full.\nfn f(\n    x: u8,\n) -> bool {\n",
        "/// Whether it is full.\n#[inline]\npub fn f(&self) -> bool {\n",
        "struct S {\n    /// Whether it is full.\n    pub a: bool,\n    b: u8,\n}\n",
        "struct S {\n    /// Whether it is full.\n    a: AtomicBool,\n}\n",
        "/// Whether it is full.\nconst FULL: bool = true;\n",
    ] {
        assert!(found_in(text).is_empty(), "{text}");
    }
}
