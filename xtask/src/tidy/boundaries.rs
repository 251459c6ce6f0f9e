//! Forbidden APIs: names that only certain crates may use, so that one place can be watched,
//! simulated or replaced; and names that no crate may use, because they panic when the reader of
//! the output is gone.

use super::{
    Violation,
    scan::{Source, identifier, imports, words},
    violation,
};

/// The crate through which the engine reaches files.
const FILE_CRATE: &str = "disk";
/// The crate through which the engine reaches atomics.
const ATOMIC_CRATE: &str = "sync";
/// Crates that are programs or tools and not part of the engine. `reorder` reads and writes sources
/// and logs of test runs, and never a file of a database.
const PROGRAMS: &[&str] = &["cli", "check", "prove", "lab", "reorder"];
/// Macros that panic if the reader of their output is gone, as with `| head`.
const PRINTING: &[&str] = &["println!", "print!", "eprintln!", "eprint!"];
/// Crates that may use them: their output is for the developer who runs the models.
const PRINTING_CRATES: &[&str] = &["sync"];
/// The folder whose operations do no I/O in their steps, and so ask the pool for resident pages
/// only.
const STEPS: &str = "crates/tree/src/";
/// The methods of the pool that read a page in, or make the data file longer.
const BLOCKING: &[&str] = &[
    "pool.optimistic(",
    "pool.shared(",
    "pool.exclusive(",
    "pool.try_exclusive(",
    "pool.pin(",
    "pool.format(",
    "pool.try_format(",
    "pool.ensure_len(",
];
/// Files in [`STEPS`] that run outside of steps: the driver, redo, `verify`, and what the engine's
/// own threads do with whole trees and with the space map.
const OUTSIDE_STEPS: &[&str] = &[
    "crates/tree/src/need.rs",
    "crates/tree/src/maintain.rs",
    "crates/tree/src/space.rs",
    "crates/tree/src/op/redo.rs",
    "crates/tree/src/op/redo_check.rs",
    "crates/tree/src/verify.rs",
    "crates/tree/src/verify/level.rs",
];
/// Calls that block a thread: waits, sleeps, and what a file does. Waits for mutexes and for page
/// latches are allowed in steps.
const WAITS: &[&str] = &[
    ".wait(",
    ".wait_for(",
    ".wait_until(",
    "sleep(",
    "park(",
    "park_timeout(",
    "block_on(",
    ".join()",
    ".read_at(",
    ".write_at(",
    ".write_durable_at(",
    ".sync_data(",
    ".sync_all(",
    "make_durable(",
];
/// The folders in which only some files may block.
const WAITLESS: &[&str] = &[STEPS, "crates/pool/src/"];
/// Files and folders of the pool that may block: the miss of a thread, the driver of a thread that
/// waits for pages, page latches, the threads of the pool and what they share with an evicting
/// thread, and bulk loads.
const MAY_WAIT: &[&str] = &[
    "crates/pool/src/admission.rs",
    "crates/pool/src/clean/",
    "crates/pool/src/data_file.rs",
    "crates/pool/src/evict.rs",
    "crates/pool/src/latch.rs",
    "crates/pool/src/load.rs",
    "crates/pool/src/loader.rs",
    "crates/pool/src/loading_pages.rs",
    "crates/pool/src/operation_pins.rs",
    "crates/pool/src/wal.rs",
];
/// Crates that may have `unsafe` code.
const UNSAFE_CRATES: &[&str] = &["sync", "disk", "log", "pool"];
/// Upper bound on the lines between a safety argument and its `unsafe`.
const SAFETY_LINES: usize = 3;

pub(crate) fn check(source: &Source) -> Vec<Violation> {
    let mut found = check_unsafe(source);
    found.extend(check_printing(source));
    found.extend(check_steps(source));
    found.extend(check_waits(source));
    let Some(name) = source.crate_name().filter(|name| !PROGRAMS.contains(name)) else {
        return found;
    };
    if name != FILE_CRATE {
        let message = format!("files are reached through the `{FILE_CRATE}` crate only");
        found.extend(check_path(source, &["std::fs"], &message));
    }
    if name != ATOMIC_CRATE {
        let message = format!("atomics are reached through the `{ATOMIC_CRATE}` crate only");
        found.extend(check_path(source, &["std::sync::atomic", "core::sync::atomic"], &message));
    }
    found
}

/// Reports every mention of one of the `modules` outside of tests: in a path or imported, alone or
/// in a group.
fn check_path(source: &Source, modules: &[&str], message: &str) -> Vec<Violation> {
    let imported = imports(&source.code).into_iter().filter(|(_, path)| {
        let within = |module: &str| {
            path.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        modules.iter().any(|module| within(module))
    });
    let imported = imported.map(|(at, _)| at);
    let named = modules.iter().flat_map(|module| words(&source.code, module));
    let report = |at| violation(&source.path, source.line_of(at), message);
    imported.chain(named).filter(|&at| !source.is_test(at)).map(report).collect()
}

fn check_printing(source: &Source) -> Vec<Violation> {
    if source.crate_name().is_some_and(|name| PRINTING_CRATES.contains(&name)) {
        return Vec::new();
    }
    let named = PRINTING.iter().flat_map(|name| {
        let bare = name.trim_end_matches('!');
        words(&source.code, bare).filter(|at| source.code[at + bare.len()..].starts_with('!'))
    });
    let message = "this panics when the reader of the output is gone: use `clearway_console`";
    let report = |at| violation(&source.path, source.line_of(at), message);
    named.filter(|&at| !source.is_test(at)).map(report).collect()
}

fn check_steps(source: &Source) -> Vec<Violation> {
    if !source.path.starts_with(STEPS) || OUTSIDE_STEPS.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let named = BLOCKING.iter().flat_map(|call| source.code.match_indices(call));
    let message = "a step of an operation does no I/O: get pages from `resident`";
    let report = |at| violation(&source.path, source.line_of(at), message);
    named.map(|(at, _)| at).filter(|&at| !source.is_test(at)).map(report).collect()
}

/// Reports calls that block in files of the tree and the pool that may not.
fn check_waits(source: &Source) -> Vec<Violation> {
    let is_in = |places: &[&str]| places.iter().any(|place| source.path.starts_with(place));
    let is_model = source.path.ends_with("/models.rs");
    if !is_in(WAITLESS) || is_in(MAY_WAIT) || is_model {
        return Vec::new();
    }
    let named = WAITS.iter().flat_map(|call| source.code.match_indices(call));
    let message = "this blocks, and may run inside a step: steps return what they lack";
    let report = |at| violation(&source.path, source.line_of(at), message);
    named.map(|(at, _)| at).filter(|&at| !source.is_test(at)).map(report).collect()
}

fn check_unsafe(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    let allowed = source.crate_name().is_some_and(|name| UNSAFE_CRATES.contains(&name));
    let comments: Vec<&str> = source.comments.lines().collect();
    for at in words(&source.code, "unsafe") {
        let line = source.line_of(at);
        if !allowed {
            let crates = UNSAFE_CRATES.join(", ");
            let message = format!("`unsafe` code lives in these crates only: {crates}");
            found.push(violation(&source.path, line, message));
        }
        let rest = source.code[at + "unsafe".len()..].trim_start();
        let needs_reason = rest.starts_with('{') || identifier(rest, 0) == "impl";
        if needs_reason && !has_safety_comment(&comments, line) {
            let message = "`unsafe` without a `// SAFETY:` comment above it";
            found.push(violation(&source.path, line, message));
        }
    }
    found
}

/// Whether a comment that reaches into the lines just above `line` says `SAFETY:`.
fn has_safety_comment(comments: &[&str], line: usize) -> bool {
    let says = |index: usize| comments.get(index).is_some_and(|text| text.contains("SAFETY:"));
    let last = line - 1; // index of the `unsafe` line itself
    let mut first = last.saturating_sub(SAFETY_LINES);
    // A longer comment counts from its first line.
    while first > 0 && !comments[first].trim().is_empty() {
        first -= 1;
    }
    (first..=last).any(says)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Source::new(path, text)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn files_are_named_by_the_disk_crate_only() {
        let text = "use std::{\n    fs::File,\n    io,\n};\nfn f() {\n    std::fs::read(p);\n}\n";
        assert_eq!(lines("crates/log/src/a.rs", text), [2, 6]);
        assert_eq!(lines("crates/tree/src/a.rs", "use std::fs;\n"), [1, 1]);
        for path in [
            "crates/disk/src/os.rs",
            "crates/cli/src/main.rs",
            "xtask/src/main.rs",
            "crates/log/tests/a.rs",
            "crates/log/src/a/tests.rs",
            "crates/clearway/examples/bank.rs",
            "crates/log/benches/a.rs",
        ] {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        let innocent = "use std::fmt;\n// std::fs\nfn f() { g(\"std::fs\"); std::fs_like() }\n\
                        #[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert!(lines("crates/log/src/a.rs", innocent).is_empty());
    }

    #[test]
    fn atomics_are_named_by_the_sync_crate_only() {
        let text = "use std::sync::{Arc, atomic::AtomicU64};\n\
                    static X: core::sync::atomic::AtomicU8;\n";
        assert_eq!(lines("crates/log/src/a.rs", text), [1, 2]);
        assert!(lines("crates/sync/src/lib.rs", text).is_empty());
        let ours = "use clearway_sync::atomic::AtomicU64;\n";
        assert!(lines("crates/log/src/a.rs", ours).is_empty());
    }

    #[test]
    fn printing_does_not_panic_without_a_reader() {
        let text = "fn f() {\n    println!(\"a\");\n    eprint!(\"println!\");\n}\n";
        assert_eq!(lines("crates/lab/src/a.rs", text), [2, 3]);
        assert_eq!(lines("xtask/src/main.rs", text), [2, 3]);
        assert!(lines("crates/lab/tests/a.rs", text).is_empty());
        assert!(lines("crates/clearway/examples/a.rs", text).is_empty());
        let ours = "fn f() {\n    clearway_console::say!(\"a\");\n}\n";
        assert!(lines("crates/lab/src/a.rs", ours).is_empty());
    }

    #[test]
    fn steps_get_resident_pages_only() {
        let text = "fn f() {\n    let leaf = self.pool.exclusive(page)?;\n}\n";
        assert_eq!(lines("crates/tree/src/write/store.rs", text), [2]);
        for path in OUTSIDE_STEPS.iter().chain(&["crates/tree/tests/a.rs", "crates/txn/src/a.rs"]) {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        let resident = "fn f() {\n    resident::exclusive(&self.pool, page)?;\n}\n";
        assert!(lines("crates/tree/src/write/store.rs", resident).is_empty());
    }

    #[test]
    fn tree_and_pool_block_in_few_files() {
        let text = "fn f() {\n    thread::sleep(PAUSE);\n    self.file.sync_data()?;\n}\n";
        for path in ["crates/tree/src/write/store.rs", "crates/pool/src/task_reads.rs"] {
            assert_eq!(lines(path, text), [2, 3], "{path}");
        }
        for path in
            ["crates/pool/src/evict.rs", "crates/pool/src/clean/batch.rs", "crates/lock/src/a.rs"]
        {
            assert!(lines(path, text).is_empty(), "{path}");
        }
        let tested = format!("#[cfg(test)]\nmod tests {{\n{text}}}\n");
        assert!(lines("crates/pool/src/task_reads.rs", &tested).is_empty());
    }

    #[test]
    fn unsafe_lives_in_few_crates() {
        let text = "fn f() {\n    // SAFETY: T1.\n    unsafe { g() }\n}\n";
        assert_eq!(lines("crates/tree/src/a.rs", text), [3]);
        assert_eq!(lines("crates/clearway/tests/a.rs", text), [3]);
        assert!(lines("crates/pool/src/a.rs", text).is_empty());
        assert!(lines("crates/tree/src/a.rs", "#![deny(unsafe_code)]\n// unsafe\n").is_empty());
    }

    #[test]
    fn unsafe_without_a_reason_is_reported() {
        let path = "crates/pool/src/a.rs";
        assert_eq!(lines(path, "fn f() {\n    unsafe { g() }\n}\n"), [2]);
        assert_eq!(lines(path, "unsafe impl Send for X {}\n"), [1]);
        let far = "// SAFETY: P1.\n\n\n\nunsafe impl Send for X {}\n";
        assert_eq!(lines(path, far), [5]);
        let near = "// SAFETY: P1.\n\nlet x =\n    unsafe { g() };\n";
        assert!(lines(path, near).is_empty());
        let long = "// SAFETY: P1,\n// and\n// so\n// on\n// and on.\nunsafe impl Send for X {}\n";
        assert!(lines(path, long).is_empty());
        let declared = "/// # Safety\n/// Latched.\npub unsafe fn f() {}\n";
        assert!(lines(path, declared).is_empty());
        let in_text = "fn f() {\n    g(\"SAFETY:\");\n    unsafe { h() }\n}\n";
        assert_eq!(lines(path, in_text), [3]);
    }
}
