use std::fs;

use super::*;

/// Returns the flags of `src/pay.c` by the text of an entry, in which `%` is the build's
/// folder.
fn flags_of(entry: &str) -> Result<Vec<String>, String> {
    let place = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(place.path()).unwrap();
    fs::create_dir_all(root.join("build")).unwrap();
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/pay.c"), "int x;\n").unwrap();
    let build = root.join("build").display().to_string();
    let commands = root.join("build/compile_commands.json");
    fs::write(&commands, entry.replace('%', &build)).unwrap();
    let short = |text: String| text.replace(&build, "%");
    let text = fs::read_to_string(&commands).unwrap();
    match flags(&text, &commands, &root.join("src/../src/pay.c")) {
        Ok(flags) => Ok(flags.into_iter().map(short).collect()),
        Err(error) => Err(short(error.to_string())),
    }
}

#[test]
fn command_is_split_as_a_shell_does() {
    let flags = flags_of(
        r#"[{"directory": "%", "file": "../src/other.c", "command": "cc -DNO other.c"},
            {"directory": "%", "file": "../src/pay.c", "command":
            "ccache gcc -DNAME='a b' -I../include '-Iof two' -isystem /usr/x <rest>"}]"#
            .replace("<rest>", "-std=gnu11 -o pay.o -MMD -MF pay.d -c ../src/pay.c")
            .as_str(),
    );
    let wanted = ["-DNAME=a b", "-I%/../include", "-I%/of two", "-isystem", "/usr/x", "-std=gnu11"];
    assert_eq!(flags.unwrap(), wanted);
}

#[test]
fn arguments_are_taken_as_they_are() {
    let flags = flags_of(
        r#"[{"directory": "%", "file": "../src/pay.c", "arguments":
            ["clang", "-c", "-opay.o", "-include", "config.h", "--sysroot=root", "-O2",
             "-DTEXT=a b", "--", "../src/pay.c"], "command": "cc -DUNUSED"}]"#,
    );
    let wanted = ["-include", "%/config.h", "--sysroot=%/root", "-O2", "-DTEXT=a b"];
    assert_eq!(flags.unwrap(), wanted);
}

#[test]
fn relative_folder_begins_at_the_database() {
    let flags =
        flags_of(r#"[{"directory": ".", "file": "../src/pay.c", "arguments": ["cc", "-Ia"]}]"#);
    assert!(flags.as_ref().is_ok_and(|flags| flags[0].ends_with("/a")), "{flags:?}");
}

#[test]
fn missing_file_and_bad_texts_are_errors_that_say_what_to_do() {
    let message = |entry: &str| flags_of(entry).unwrap_err();
    let none = message(r#"[{"directory": "%", "file": "other.c", "command": "cc"}]"#);
    assert!(none.contains("pay.c is not compiled there; give its flags"), "{none}");
    let open = r#"[{"directory": "%", "file": "../src/pay.c", "command": "cc '-DX"}]"#;
    assert!(message(open).contains("its quotes do not match"), "{}", message(open));
    let bare = r#"[{"directory": "%", "file": "../src/pay.c"}]"#;
    assert!(message(bare).contains("is missing"), "{}", message(bare));
    let text = message("[\n{]");
    assert!(text.starts_with("%/compile_commands.json:2: this is no list"), "{text}");
}
