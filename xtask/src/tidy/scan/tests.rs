//! The scanner distinguishes code, comments, literals and tests.

use super::*;

fn code(text: &str) -> String {
    Source::new("x.rs", text).code
}

#[test]
fn comments_are_not_code() {
    assert_eq!(code("a // b\nc"), "a     \nc");
    assert_eq!(code("a /* b /* c */ d */ e"), "a                   e");
    assert_eq!(code("a / b"), "a / b");
    assert_eq!(Source::new("x.rs", "a // b \"c\nd").comments, "  // b \"c\n ");
}

#[test]
fn literals_are_not_code() {
    assert_eq!(code(r#"f("a // \" b", c)"#), "f(           , c)");
    assert_eq!(code(r##"f(r#"a " b"#, c)"##), "f(          , c)");
    assert_eq!(code(r#"f(br"\", c)"#), "f(     , c)");
    assert_eq!(code(r"f('\'', '{', 'é', b'\\', '\u{1F600}')").replace(' ', ""), "f(,,,b,)");
    assert_eq!(code("\"over\ntwo\" x"), "     \n     x");
}

#[test]
fn lifetimes_are_code() {
    for text in ["fn f<'a>(x: &'a str)", "'label: loop { break 'label }", "&'static str"] {
        assert_eq!(code(text), text);
    }
}

#[test]
fn unterminated_text_ends_the_scan() {
    for text in ["\"abc", "/* abc", "r#\"abc", "'\\", "'", "b'", "\"\\"] {
        Source::new("x.rs", text);
    }
}

#[test]
fn grouped_imports_are_expanded() {
    let code =
        "use std::{\n    fs, io::{self, Read as R},\n    sync::atomic::AtomicU8,\n};\nuse a;";
    let found = imports(code);
    let paths: Vec<&str> = found.iter().map(|(_, path)| path.as_str()).collect();
    let expected =
        ["std::fs", "std::io::self", "std::io::Read", "std::sync::atomic::AtomicU8", "a"];
    assert_eq!(paths, expected);
    let source = Source::new("x.rs", code);
    let lines: Vec<usize> = found.iter().map(|&(at, _)| source.line_of(at)).collect();
    assert_eq!(lines, [2, 2, 2, 3, 5]);
}

#[test]
fn test_items_are_known() {
    let text = "fn a() {}\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
    let source = Source::new("crates/x/src/lib.rs", text);
    let is_test = |word: &str| source.is_test(text.find(word).unwrap());
    assert!(!is_test("fn a") && is_test("fn b") && !is_test("fn c"));
    let source = Source::new("x.rs", "#[cfg(not(test))]\nfn a() {}\n");
    assert!(!source.is_test(18));
    let source = Source::new("x.rs", "#[cfg(test)]\nmod tests;\nfn a() {}\n");
    assert!(!source.is_test(24));
    for path in ["crates/x/tests/a.rs", "crates/x/src/a/tests.rs", "crates/x/examples/e.rs"] {
        assert!(Source::new(path, "").is_test_file());
    }
}

#[test]
fn code_lines_leave_out_comments_and_blanks() {
    let text = "//! Head.\n\nfn f() {\n    // why\n    g(\"a\n\n    b\");\n}\n";
    assert_eq!(Source::new("x.rs", text).code_line_count(), 4);
}

#[test]
fn bodies_are_found_past_semicolons_in_types() {
    let code = "fn f(x: [u8; 4]) -> [u8; 2] { {} } fn g();";
    assert_eq!(&code[body(code, 0).unwrap()], "{ {} }");
    assert_eq!(body(code, code.find("fn g").unwrap()), None);
}
