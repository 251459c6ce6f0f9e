use std::process::Stdio;

use super::*;

const SOURCE: &str = "fn f() -> u32 {\n    let a = 1;\n    let b = 2;\n    a + b\n}\n";

/// A repository with one source file, the switch, and the given patches.
fn repository(patches: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        write_if_different(&dir.path().join(path), text.as_bytes()).unwrap();
    };
    write("crates/log/src/lib.rs", SOURCE);
    write(SWITCH.2, "//! Base.\n");
    write(SWITCH.0, "//! The switch.\n");
    write(".gitignore", "target\n");
    let rows =
        patches.iter().map(|(name, _)| format!("| a bug | a lane | `{name}` (lane `log`) |\n"));
    write(BUGS, &rows.collect::<String>());
    for (name, text) in patches {
        write(&format!("{FOLDER}/{name}.patch"), text);
    }
    let mut git = Command::new("git");
    let status = git.args(["init", "-q"]).current_dir(dir.path()).stderr(Stdio::null()).status();
    assert!(status.unwrap().success());
    dir
}

/// A patch that replaces line `at` of the source by a switch.
fn patch(name: &str, at: usize) -> (&str, String) {
    let lines: Vec<&str> = SOURCE.lines().collect();
    let mut text = "It is wrong.\nCaught by: log\n\n--- a/crates/log/src/lib.rs\n".to_string();
    text += &format!("+++ b/crates/log/src/lib.rs\n@@ -1,{0} +1,{0} @@\n", lines.len());
    for (index, line) in lines.iter().enumerate() {
        match index == at {
            false => text += &format!(" {line}\n"),
            true => text += &format!("-{line}\n+    mutant::is(\"{name}\");\n"),
        }
    }
    (name, text)
}

fn messages(patches: &[(&str, &str)]) -> Vec<String> {
    let dir = repository(patches);
    check(dir.path()).unwrap().into_iter().map(|fault| fault.message).collect()
}

#[test]
fn patches_with_overlapping_context_are_merged_into_the_copy() {
    let ((a, first), (b, second)) = (patch("first", 1), patch("second", 3));
    let dir = repository(&[(a, &first), (b, &second)]);
    assert!(check(dir.path()).unwrap().is_empty());
    let (copy, count) = plant(dir.path()).unwrap();
    assert_eq!(count, 2);
    let text = fs::read_to_string(copy.join("crates/log/src/lib.rs")).unwrap();
    assert!(text.contains("is(\"first\")") && text.contains("is(\"second\")"), "{text}");
    assert!(text.contains("let b = 2;"));
    assert_eq!(fs::read_to_string(dir.path().join("crates/log/src/lib.rs")).unwrap(), SOURCE);
    let library = fs::read_to_string(copy.join(SWITCH.2)).unwrap();
    assert!(library.ends_with("pub mod mutant;\n"));
    assert!(copy.join(SWITCH.1).exists());
}

#[test]
fn planting_again_follows_the_sources_and_keeps_what_is_built() {
    let (name, text) = patch("first", 1);
    let dir = repository(&[(name, &text)]);
    let (copy, _) = plant(dir.path()).unwrap();
    fs::create_dir(copy.join(BUILT)).unwrap();
    fs::write(copy.join(BUILT).join("program"), "built").unwrap();
    fs::write(copy.join("crates/log/src/old.rs"), "gone from the sources").unwrap();
    fs::remove_file(dir.path().join(format!("{FOLDER}/first.patch"))).unwrap();
    let (_, count) = plant(dir.path()).unwrap();
    assert_eq!(count, 0);
    assert_eq!(fs::read_to_string(copy.join("crates/log/src/lib.rs")).unwrap(), SOURCE);
    assert!(!copy.join("crates/log/src/old.rs").exists());
    assert!(copy.join(BUILT).join("program").exists());
}

#[test]
fn patch_whose_context_has_moved_is_a_fault() {
    let (name, text) = patch("first", 1);
    let text = text.replace("let b = 2", "let b = 3");
    let found = messages(&[(name, &text)]);
    assert!(found.len() == 1 && found[0].contains("patch failed"), "{found:?}");
    let (name, text) = patch("first", 1);
    let text = text.replace("log/src/lib.rs", "log/src/gone.rs");
    assert_eq!(messages(&[(name, &text)]).len(), 1);
}

#[test]
fn patches_that_change_the_same_line_are_a_fault() {
    let ((a, first), (b, second)) = (patch("first", 1), patch("second", 1));
    let found = messages(&[(a, &first), (b, &second)]);
    assert!(found.len() == 1 && found[0].contains("another patch"), "{found:?}");
}

#[test]
fn switch_with_another_name_is_a_fault() {
    let (_, text) = patch("first", 1);
    assert_eq!(messages(&[("second", &text)]).len(), 1);
    let (_, text) = patch("first", 1);
    assert_eq!(messages(&[("first", &text.replace("mutant::is", "maybe"))]).len(), 1);
}

#[test]
fn document_names_each_mutant_and_no_other() {
    let messages = |bugs: &str| -> Vec<String> {
        check_names(&["late", "page-lost"], bugs).into_iter().map(|fault| fault.message).collect()
    };
    let row =
        "| `other-code` | by `some-test` | `late`; by hand: `a::b-c`, `page-lost` (lane `log`) |";
    assert!(messages(row).is_empty(), "{:?}", messages(row));
    assert_eq!(
        messages("| x | `late`, `late-page` |\nnot `a-row`"),
        ["there is no mutant `late-page`", "no table names the mutant `page-lost`",]
    );
}
