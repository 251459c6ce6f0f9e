//! Dependency cycles of modules: in the crates listed here there are none.
//!
//! A use is a path that begins with `crate::`, in an import or in the code; names that the crate's
//! root exports again count as uses of the module that has them. A file and the files of its
//! folder may use each other by relative paths: they are one unit. Tests and models are left out.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Violation,
    scan::{Source, identifier, imports, words},
    violation,
};

/// The crates whose modules have no dependency cycle.
const STRICT: &[&str] = &[
    "base",
    "codec",
    "sync",
    "disk",
    "log",
    "pool",
    "lock",
    "tree",
    "txn",
    "clearway",
    "variants",
    "workloads",
    "prove",
];

/// The uses between the modules of one crate, by path from the root, such as `wait::spin`.
type Uses<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

/// Reports each cycle once, at the file of its first module.
pub(crate) fn check(sources: &[Source]) -> Vec<Violation> {
    STRICT.iter().flat_map(|name| check_crate(name, sources)).collect()
}

fn check_crate(name: &str, sources: &[Source]) -> Vec<Violation> {
    let folder = format!("crates/{name}/src/");
    let modules: BTreeMap<String, &Source> = sources
        .iter()
        .filter(|source| !source.is_test_file() && !source.path.ends_with("models.rs"))
        .filter_map(|source| {
            let path = source.path.strip_prefix(&folder)?.strip_suffix(".rs")?;
            Some((path.replace('/', "::"), source))
        })
        .collect();
    let exported = modules.get("lib").map(|root| exports(root)).unwrap_or_default();
    let mut uses = Uses::new();
    for (module, source) in &modules {
        let used = used_paths(source).into_iter().filter_map(|path| {
            let first = path.split("::").next().unwrap_or_default();
            let path = exported.get(first).unwrap_or(&path);
            find_module(&modules, path)
        });
        uses.insert(module, used.filter(|used| used != module).collect());
    }
    let cycles = cycles(&uses);
    let report = |cycle: BTreeSet<&str>| {
        let first = cycle.first().expect("a cycle has members");
        let names: Vec<&str> = cycle.iter().copied().collect();
        violation(
            &modules[*first].path,
            1,
            format!("modules in a dependency cycle: {}", names.join(", ")),
        )
    };
    cycles.into_iter().map(report).collect()
}

/// Returns the paths behind `crate::` that the product code of a file uses.
fn used_paths(source: &Source) -> Vec<String> {
    let imported = imports(&source.code).into_iter().filter(|(at, _)| !source.is_test(*at));
    let imported = imported.filter_map(|(_, path)| Some(path.strip_prefix("crate::")?.into()));
    let in_code = words(&source.code, "crate").filter(|at| !source.is_test(*at));
    let in_code = in_code.filter_map(|at| {
        let mut path = Vec::new();
        let mut rest = at + "crate".len();
        while source.code[rest..].starts_with("::") {
            let name = identifier(&source.code, rest + 2);
            rest += 2 + name.len();
            path.push(name);
        }
        (!path.is_empty()).then(|| path.join("::"))
    });
    imported.chain(in_code).collect()
}

/// Returns the names that a crate's root exports from its modules, with their full paths.
fn exports(root: &Source) -> BTreeMap<String, String> {
    let exported = imports(&root.code).into_iter().filter(|(at, path)| {
        let line = root.code[..*at].rfind("use").map_or("", |end| &root.code[..end]);
        line.ends_with("pub ") && !path.starts_with("clearway")
    });
    let named = exported.filter_map(|(_, path)| {
        let name = path.rsplit("::").next()?;
        Some((name.to_string(), path.clone()))
    });
    named.collect()
}

/// Returns the module that a path leads to, or that contains the item.
fn find_module<'a>(modules: &'a BTreeMap<String, &Source>, path: &str) -> Option<&'a str> {
    let mut path = path;
    loop {
        if let Some((module, _)) = modules.get_key_value(path) {
            return Some(module);
        }
        path = &path[..path.rfind("::")?];
    }
}

/// Returns the sets of modules that reach each other.
fn cycles<'a>(uses: &Uses<'a>) -> BTreeSet<BTreeSet<&'a str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|module| (*module, reach(uses, module))).collect();
    let cycle = |module: &&'a str| {
        let with = reached[module].iter().filter(|other| reached[*other].contains(module));
        with.copied().collect::<BTreeSet<_>>()
    };
    uses.keys().map(cycle).filter(|cycle| cycle.len() > 1).collect()
}

/// Returns the modules that a module uses, directly or through others.
fn reach<'a>(uses: &Uses<'a>, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = uses[from].iter().copied().collect();
    while let Some(module) = open.pop() {
        if reached.insert(module) {
            open.extend(&uses[module]);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(sources: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = sources.iter().map(|(path, text)| Source::new(path, text)).collect();
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cycle_is_reported_once() {
        let owner = ("crates/lock/src/owner.rs", "use crate::{mode::Mode, table::Table};\n");
        let table = ("crates/lock/src/table.rs", "fn f() -> crate::wait::Wait { }\n");
        let wait = ("crates/lock/src/wait.rs", "use crate::owner::Owner;\n");
        let mode = ("crates/lock/src/mode.rs", "pub struct Mode;\n");
        assert_eq!(
            messages(&[owner, table, wait, mode]),
            ["crates/lock/src/owner.rs:1: modules in a dependency cycle: owner, table, \
              wait"]
        );
        assert!(messages(&[owner, table, mode]).is_empty());
    }

    #[test]
    fn name_that_the_root_exports_leads_to_its_module() {
        let root = ("crates/log/src/lib.rs", "mod a;\nmod b;\n\npub use a::{One, Two};\n");
        let a = ("crates/log/src/a.rs", "use crate::b::Three;\npub struct One;\n");
        let b = ("crates/log/src/b.rs", "use crate::Two;\npub struct Three;\n");
        assert_eq!(messages(&[root, a, b]).len(), 1);
        assert!(messages(&[a, b]).is_empty());
    }

    #[test]
    fn tests_models_and_other_crates_may_use_what_they_like() {
        let a = ("crates/txn/src/a.rs", "use crate::b::B;\n");
        let b = "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n";
        let model = ("crates/txn/src/b/models.rs", "use crate::a::A;\n");
        assert!(messages(&[a, ("crates/txn/src/b.rs", b), model]).is_empty());
        let [one, two] = ["crates/lab/src/a.rs", "crates/lab/src/b.rs"];
        assert!(messages(&[(one, "use crate::b::B;\n"), (two, "use crate::a::A;\n")]).is_empty());
    }
}
