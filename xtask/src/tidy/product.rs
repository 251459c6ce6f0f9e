//! The product's sources contain the product alone: no planted bug, no name of a system that exists
//! to be compared with it, and no feature that changes what a function does.

use super::{
    Violation,
    scan::{Source, words},
    sizes, violation,
};

/// Crates that users of the engine compile.
const PRODUCT: &[&str] =
    &["base", "codec", "sync", "disk", "pool", "log", "lock", "tree", "txn", "clearway"];
/// Identifiers of the crate of variants.
const VARIANTS: &[&str] = &[
    "Consolidated",
    "ConsolidatedInsertion",
    "Consolidation",
    "Decoupled",
    "DecoupledInsertion",
    "Delegated",
    "DelegatedInsertion",
    "HybridInsertion",
    "MutexInsertion",
    "GroupPolicy",
    "DeadlockMethod",
    "Digests",
    "Dreadlocks",
    "WaitDie",
    "WoundWait",
    "VictimPolicy",
    "KillLong",
    "KillShort",
    "KillYoung",
    "IntentMethod",
    "Inheritance",
    "MainTable",
    "EarlyRelease",
    "RangeProtocol",
    "Lomet",
    "NextKey",
];

pub(crate) fn check(source: &Source) -> Vec<Violation> {
    let is_product = source.crate_name().is_some_and(|name| PRODUCT.contains(&name));
    if !is_product || source.is_test_file() {
        return Vec::new();
    }
    let mut found = check_mutants(source);
    found.extend(check_variants(source));
    found.extend(check_features(source));
    found
}

fn check_mutants(source: &Source) -> Vec<Violation> {
    let message = format!("a planted bug is a patch file in {}", crate::mutants::FOLDER);
    let report = |at| violation(&source.path, source.line_of(at), &*message);
    words(&source.code, "mutant").map(report).collect()
}

/// Reports identifiers of variants, in comments as well.
fn check_variants(source: &Source) -> Vec<Violation> {
    let named = VARIANTS.iter().flat_map(|name| {
        words(&source.text, name).map(move |at| {
            let message = format!("`{name}` belongs to the crate of variants");
            violation(&source.path, source.line_of(at), message)
        })
    });
    named.collect()
}

/// Reports features inside of functions. A feature may add items; it changes no function.
fn check_features(source: &Source) -> Vec<Violation> {
    let functions = sizes::functions(source);
    let attributes = ["cfg(feature", "cfg!(feature"]
        .into_iter()
        .flat_map(|cfg| source.code.match_indices(cfg).map(|(at, _)| (at, source.line_of(at))));
    let inside = attributes.filter(|&(at, line)| {
        !source.is_test(at) && functions.iter().any(|function| function.contains(line))
    });
    let message = "a feature may add items, and changes no function";
    inside.map(|(_, line)| violation(&source.path, line, message)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn planted_bug_is_reported_in_the_product_only() {
        let text = "fn f() {\n    if clearway_base::mutant::is(\"early\") {}\n}\n";
        assert_eq!(lines("crates/lock/src/a.rs", text), [2]);
        assert!(lines("crates/prove/mutants/switch.rs", text).is_empty());
        assert!(lines("crates/lock/src/a.rs", "fn f() { g(\"mutant\") }\n").is_empty());
    }

    #[test]
    fn name_of_a_variant_is_reported_in_comments_too() {
        let text = "//! As `Dreadlocks`.\nuse crate::WaitDie;\nfn f(digest: WaitDies) {}\n";
        assert_eq!(lines("crates/lock/src/a.rs", text), [1, 2]);
        assert!(lines("crates/variants/src/a.rs", text).is_empty());
        assert!(lines("crates/lock/tests/a.rs", text).is_empty());
    }

    #[test]
    fn feature_inside_a_function_is_reported() {
        let inside =
            "fn f() {\n    #[cfg(feature = \"x\")]\n    g();\n    if cfg!(feature = \"y\") {}\n}\n";
        assert_eq!(lines("crates/base/src/a.rs", inside), [2, 4]);
        let item = "#[cfg(feature = \"x\")]\npub fn f() {\n    g();\n}\n";
        assert!(lines("crates/base/src/a.rs", item).is_empty());
        let test = "#[cfg(test)]\nmod tests {\n    fn f() { cfg!(feature = \"x\") }\n}\n";
        assert!(lines("crates/base/src/a.rs", test).is_empty());
    }
}
