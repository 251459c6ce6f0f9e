//! Input of all kinds: bad, large, deep, and in odd encodings.

use std::{path::Path, time::Instant};

use clearway_reorder::{
    clang::{FrontEnd, FrontEndError},
    ir::StatementKind,
};

use crate::{c, front_end, outline::assert_statements, properties, read};

#[test]
fn code_that_does_not_compile_is_refused_with_places() {
    let Some(result) =
        read("bad.c", "int f(void) {\n  return y;\n}\nint g(int a) { return a }", &[])
    else {
        return;
    };
    let Err(error @ FrontEndError::DoesNotCompile { .. }) = result else {
        panic!("not refused");
    };
    let message = error.to_string();
    assert!(message.contains("bad.c:2:10: use of undeclared identifier 'y'"), "{message}");
    assert!(message.contains("bad.c:4:24: expected ';' after return statement"), "{message}");
    let warned = "int f(void) { int unused = 1 == 2 == 3; return 0; }";
    assert!(read("warned.c", warned, &["-Wall"]).is_none_or(|result| result.is_ok()));
}

#[test]
fn missing_header_of_the_user_is_named() {
    let Some(result) = read("bad.c", "#include <no-such.h>\n", &[]) else { return };
    let message = result.expect_err("a header is missing").to_string();
    assert!(message.contains("bad.c:1:10: 'no-such.h' file not found"), "{message}");
    let Some(result) = read("bad.c", "int a;", &["-std=nonsense"]) else { return };
    let message = result.expect_err("a flag is wrong").to_string();
    assert!(message.contains("nonsense"), "{message}");
}

#[test]
fn headers_of_the_compiler_are_found_elsewhere() {
    let source = "#include <stddef.h>\n#include <stdarg.h>\nsize_t f(void) { return 1; }";
    let Some(result) = read("a.c", source, &["-resource-dir=/nonexistent"]) else { return };
    let program = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.functions.len(), 1);
}

#[test]
fn file_is_read_if_no_text_is_given() {
    let Some(front_end) = front_end() else { return };
    let error = front_end.parse(Path::new("/nonexistent/a.c"), None, &[]);
    let message = error.expect_err("no file").to_string();
    assert!(message.starts_with("/nonexistent/a.c: the file cannot be read"), "{message}");
    let path = std::env::temp_dir().join(format!("clearway-front-end-{}.c", std::process::id()));
    std::fs::write(&path, b"int f(void) { return 1; } // \xff").expect("a temporary file");
    let error = front_end.parse(&path, None, &[]).expect_err("not UTF-8");
    assert!(matches!(error, FrontEndError::Unreadable { .. }), "{error}");
    std::fs::write(&path, "int f(void) { return 1; }").expect("a temporary file");
    let program = front_end.parse(&path, None, &[]).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_file(&path).expect("the temporary file");
    assert_eq!(program.functions.len(), 1);
    assert_eq!(program.path, path.display().to_string());
}

#[test]
fn zero_bytes_are_refused() {
    let Some(result) = read("a.c", "int a;\0", &[]) else { return };
    assert!(result.expect_err("a zero byte").to_string().contains("zero byte"));
    let Some(result) = read("a.c", "int a;", &["-DX=\0"]) else { return };
    assert!(result.is_err());
}

#[test]
fn file_without_functions_has_none() {
    for source in ["", "\n", "// nothing", "int x;\n#define A\nA\n", "\u{feff}"] {
        let Some(program) = c(source) else { return };
        assert!(program.functions.is_empty());
        assert!(program.variables.is_empty());
    }
}

#[test]
fn offsets_count_bytes() {
    let source = "\u{feff}int f(int a) { // ä€😀\r\n\tconst char *s = \"ö\" /* 漢字; */ \"😀\";\r\n\
                  \ta += s[0] /* é */ + 1\r\n\t;\r\n\treturn a;\r\n}\r\n";
    let Some(program) = c(source) else { return };
    assert_eq!(program.functions[0].range.start, 3);
    assert_statements(
        &program,
        source,
        "f",
        "
        `const char *s = \"ö\" /* 漢字; */ \"😀\";` declare s = \"ö😀\"
        `a += s[0] /* é */ + 1 ;` evaluate (a += (s[0] + 1))
        `return a;` return a
        ",
    );
}

#[test]
fn deep_nesting_is_cut_off() {
    let blocks = format!("{}a++;{}", "{".repeat(150), "}".repeat(150));
    let brackets = format!("{}a{}", "(".repeat(240), ")".repeat(240));
    let sum = vec!["a"; 4000].join(" + ");
    let branches: String = (0..900).map(|n| format!("if (a == {n}) a++; else ")).collect();
    let source = format!(
        "int f(int a) {{ {blocks} return {brackets}; }}\nint g(int a) {{ return {sum}; }}\n\
         int h(int a) {{ {branches} ; return a; }}"
    );
    let Some(program) = c(&source) else { return };
    let opaque = |name: &str| {
        let mut found = false;
        program.function(name).expect("the function").body.walk(&mut |statement| {
            found |= matches!(&statement.kind, StatementKind::Opaque(why) if why.contains("deep"));
            for expression in statement.expressions() {
                expression
                    .walk(&mut |inner| found |= format!("{:?}", inner.kind).contains("Opaque"));
            }
        });
        found
    };
    assert_eq!([opaque("f"), opaque("g"), opaque("h")], [false, true, true]);
}

#[test]
fn statement_without_end_is_refused() {
    let sum = vec!["a"; 40_000].join(" + ");
    let source = format!("int f(int a) {{\n  return {sum};\n}}");
    let Some(result) = read("sum.c", &source, &[]) else { return };
    let message = result.expect_err("it is too long").to_string();
    assert!(message.contains("sum.c: libclang cannot read the file: line 2 is in"), "{message}");
}

#[test]
fn long_file_is_read_in_seconds() {
    let mut source = String::from(
        "int status(int); int query(const char *, int);\n\
         #define FAILED(r) (status(r) != 0)\n\
         #define CHECK(r) do { if (FAILED(r)) goto fail; } while (0)\n",
    );
    for function in 0..125 {
        source.push_str(&format!("int f{function}(int w, int d) {{\n  int r;\n"));
        for line in 0..9 {
            source.push_str(&format!(
                "  r = query(\"UPDATE t SET a = a + 1\", w + {line});\n  CHECK(r);\n  \
                 if (r > {line} && d != 3) {{ /* comment */\n    w += d * {line};\n  }}\n"
            ));
        }
        source.push_str("  return 0;\nfail:\n  return 1;\n}\n");
    }
    assert!(source.lines().count() > 5000);
    let Some(front_end) = front_end() else { return };
    let start = Instant::now();
    let program = front_end.parse(Path::new("long.c"), Some(&source), &[]);
    let elapsed = start.elapsed();
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.functions.len(), 125);
    properties::check(&program, &source);
    assert!(elapsed.as_secs_f64() < 5.0, "{elapsed:?}");
}

#[test]
fn macro_that_cannot_be_followed_makes_its_function_opaque() {
    let folder = std::env::temp_dir().join(format!("clearway-headers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let header = "#define HIDDEN(x) (x + 1)\n#define USES(x) HIDDEN(x)\n#undef HIDDEN\n\
                  int HIDDEN(int);\n#define BROKEN(x) x )\n#define CALLS(x) BROKEN(x)\n\
                  #undef BROKEN\nint BROKEN(int);\n";
    std::fs::write(folder.join("hidden.h"), header).expect("a header");
    std::fs::write(folder.join("body.inc"), "a += 2;\n").expect("a header");
    std::fs::write(folder.join("text.inc"), "\"SELECT 1\"\n").expect("a header");
    let flag = format!("-I{}", folder.display());
    let opaque = "int f(int a) { a = USES(a); return a; }\nint g(int a) { a++; return a; }";
    let source = format!("#include \"hidden.h\"\n{opaque}");
    let first = read("a.c", &source, &[&flag]);
    let broken = "#include \"hidden.h\"\n#define INC(x) (x)++\n\
                  int f(int a) { a = CALLS(a); INC(a); return a; }";
    let second = read("a.c", broken, &[&flag]);
    let included = "int f(int a) { a++;\n#include \"body.inc\"\n  return a; }";
    let third = read("a.c", included, &[&flag]);
    let text = "char f(int a) { const char *q =\n#include \"text.inc\"\n; return q[a]; }";
    let fourth = read("a.c", text, &[&flag]);
    std::fs::remove_dir_all(&folder).expect("the temporary folder");
    let (Some(first), Some(second), Some(third), Some(fourth)) = (first, second, third, fourth)
    else {
        return;
    };
    let program = fourth.unwrap_or_else(|error| panic!("{error}"));
    let expected = "`const char *q = #include \"text.inc\" ;` declare q = '\"SELECT 1\"\n\
                    `return q[a];` return q[a]";
    assert_statements(&program, text, "f", expected);
    let program = first.unwrap_or_else(|error| panic!("{error}"));
    let reason = "OPAQUE: the uses of macros in this function could not be followed";
    let expected = format!("`{{ a = USES(a); return a; }}` {reason}");
    assert_statements(&program, &source, "f", &expected);
    assert_statements(&program, &source, "g", "`a++;` evaluate (a++)\n`return a;` return a");
    let program = second.unwrap_or_else(|error| panic!("{error}"));
    properties::check(&program, broken);
    let expected = "
        `a = CALLS(a);` evaluate (a = BROKEN('a))
        `INC(a);` evaluate OPAQUE: an operator that libclang does not show
        `return a;` return a";
    assert_statements(&program, broken, "f", expected);
    let program = third.unwrap_or_else(|error| panic!("{error}"));
    properties::check(&program, included);
    let reason = "OPAQUE: a statement that another file contains (`#include`)";
    let expected = format!("`a++; #include \"body.inc\" return a;` {reason}");
    assert_statements(&program, included, "f", &expected);
}

#[test]
fn many_threads_share_the_library() {
    if front_end().is_none() {
        return;
    }
    let threads: Vec<_> = (0..8)
        .map(|number| {
            std::thread::spawn(move || {
                let front_end = FrontEnd::load().expect("it is loaded");
                let source = format!("int f{number}(int a) {{ return a + {number}; }}");
                let path = format!("thread-{number}.c");
                front_end
                    .parse(Path::new(&path), Some(&source), &[])
                    .map(|program| program.functions)
            })
        })
        .collect();
    for (number, thread) in threads.into_iter().enumerate() {
        let functions = thread.join().expect("no panic").expect("a program");
        assert_eq!(functions[0].name, format!("f{number}"));
    }
}
