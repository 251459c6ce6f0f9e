//! Macros, which are the hard part.

use crate::{c, outline::assert_statements};

const HEAD: &str = r#"
int a(void); int b(int); int log_it(const char *); int status(int);
#define LIMIT 10
#define FAILED(r) (status(r) != LIMIT)
#define CHECK(r) do { if (FAILED(r)) goto fail; } while (0)
#define EXIT_IF(r) if (FAILED(r)) return 1
#define TWO() a(); b(1)
#define BLOCK(x) { a(); x; }
#define SAME(x) x
#define SQUARE(x) x * x
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define TAIL 1 - 2 *
#define IF_POSITIVE(x) if (x > 0) {
#define END }
#define CHECKED(r) if (FAILED(r))
#define FOREVER for (;;)
#define OTHERWISE else b(2);
#define SEMICOLON a();
#define HALF a(); b(
#define b(x) (log_it("b"), b(x))
#define NOTHING
#define BEGIN_TRANSACTION NOTHING
#define CALL SAME
#define TEXT(x) #x
#define PASTE(x, y) x ## y
#define likely(x) __builtin_expect(!!(x), 1)
#define VALUE (n)
#define INC(x) (x)++
#define ARGS(...) f2(__VA_ARGS__)
#define LOOP(v, m) for (int v = 0; v < (m); v++)
int f2(int, int);
"#;

/// Compares the statements of `int f(int n, int m)` with the body `body`.
fn body(body: &str, expected: &str) {
    let source = format!("{HEAD}int f(int n, int m) {{ {body} fail: return 0; }}");
    let Some(program) = c(&source) else { return };
    let expected =
        format!("{}\n`fail: return 0;` label fail\n  `return 0;` return 0", dedent(expected));
    assert_statements(&program, &source, "f", &expected);
}

fn dedent(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    lines.iter().map(|line| &line[indent..]).collect::<Vec<_>>().join("\n")
}

#[test]
fn statement_of_a_macro_has_the_range_of_its_use() {
    body(
        "CHECK(n); EXIT_IF(m); SAME(n = m); SEMICOLON SAME(n = 2;) SAME(NOTHING);
         if (n) SAME(n = 3;) else SAME(n = 4);",
        "
        `CHECK(n);` expanded
          `CHECK(n);` dowhile '0; -
            `CHECK(n);` block
              `CHECK(n);` if '('status(n) != '10)
                `CHECK(n);` goto fail
        `EXIT_IF(m);` expanded
          `EXIT_IF(m);` if '('status(m) != '10)
            `EXIT_IF(m);` return '1
        `SAME(n = m);` evaluate (n = m)
        `SEMICOLON` evaluate 'a()
        `SAME(n = 2;)` evaluate (n = 2)
        `;` empty
        `if (n) SAME(n = 3;) else SAME(n = 4);` if n
          `SAME(n = 3;)` evaluate (n = 3)
          `SAME(n = 4);` evaluate (n = 4)
        ",
    );
}

#[test]
fn several_statements_of_one_use_are_expanded_together() {
    body(
        "TWO(); BLOCK(n++) BLOCK(CHECK(m)); SAME(n = 1; m = 2;)",
        "
        `TWO();` expanded
          `TWO();` evaluate 'a()
          `TWO();` evaluate '('log_it('\"b\"), 'b('1))
        `BLOCK(n++)` expanded
          `BLOCK(n++)` block
            `BLOCK(n++)` evaluate 'a()
            `BLOCK(n++)` evaluate (n++)
        `BLOCK(CHECK(m))` expanded
          `BLOCK(CHECK(m))` block
            `BLOCK(CHECK(m))` evaluate 'a()
            `BLOCK(CHECK(m))` dowhile '0; -
              `BLOCK(CHECK(m))` block
                `BLOCK(CHECK(m))` if '('status(m) != '10)
                  `BLOCK(CHECK(m))` goto fail
        `;` empty
        `SAME(n = 1; m = 2;)` expanded
          `SAME(n = 1; m = 2;)` evaluate (n = 1)
          `SAME(n = 1; m = 2;)` evaluate (m = 2)
        ",
    );
}

#[test]
fn part_of_a_statement_makes_it_opaque() {
    body(
        "IF_POSITIVE(n) m = 1; END CHECKED(n) return 1; FOREVER { break; } if (n) m = 2; OTHERWISE
         n = 1; HALF 3); LOOP(i, 3) { n += i; } if (n) TWO(); n = 4;",
        "
        `IF_POSITIVE(n) m = 1; END` OPAQUE: the macro `IF_POSITIVE` expands to a part of a statement
        `CHECKED(n) return 1;` OPAQUE: the macro `CHECKED` expands to a part of a statement
        `FOREVER { break; }` OPAQUE: the macro `FOREVER` expands to a part of a statement
        `if (n) m = 2; OTHERWISE` OPAQUE: the macro `OTHERWISE` expands to a part of a statement
        `n = 1;` evaluate (n = 1)
        `HALF 3);` OPAQUE: the macro `HALF` expands to a part of a statement
        `LOOP(i, 3) { n += i; }` OPAQUE: the macro `LOOP` expands to a part of a statement
        `if (n) TWO();` OPAQUE: the macro `TWO` expands to a part of a statement
        `n = 4;` evaluate (n = 4)
        ",
    );
}

#[test]
fn expression_has_a_range_if_a_text_stands_for_it() {
    body(
        "n = SQUARE(m) + TAIL 3; n = MAX(m, n) * LIMIT; n = VALUE; INC(m); m = ARGS(1, n);
         if (likely(n == 2)) return m;",
        "
        `n = SQUARE(m) + TAIL 3;` evaluate (n = ('((m * m) + '1) - '('2 * 3)))
        `n = MAX(m, n) * LIMIT;` evaluate (n = (('(m > n) ? m : n) * 10))
        `n = VALUE;` evaluate (n = 'n)
        `INC(m);` evaluate (m++)
        `m = ARGS(1, n);` evaluate (m = f2(1, n))
        `if (likely(n == 2)) return m;` if (!'(!(n == 2)))
          `return m;` return m
        ",
    );
}

#[test]
fn macros_of_macros_are_followed() {
    body(
        "CALL(b)(n); n = CALL(m); n = PASTE(1, 2) + PASTE(, m);
         log_it(TEXT(\"x\" + y)); b(MAX(n, b(m)));",
        "
        `CALL(b)(n);` evaluate ('log_it('\"b\"), 'b(n))
        `n = CALL(m);` evaluate (n = m)
        `n = PASTE(1, 2) + PASTE(, m);` evaluate (n = (12 + m))
        `log_it(TEXT(\"x\" + y));` evaluate log_it(\"\\\"x\\\" + y\")
        `b(MAX(n, b(m)));` evaluate ('log_it('\"b\"), 'b(('(n > ('log_it('\"b\"), 'b(m))) ? n :
        | ('log_it('\"b\"), 'b(m)))))
        ",
    );
}

#[test]
fn uses_are_listed_without_those_within_them() {
    let source = "#define NOTHING\n#define F(x) x\n#define TWICE(x) F(x) F(x)\n\
                  #if F(1) > 0\n#endif\nint f(int n) {\n  NOTHING\n  \
                  n = F(F(n)\n   + 1) + __LINE__;\n  NOTHING; return n; }";
    let Some(program) = c(source) else { return };
    let found: Vec<(&str, &str)> =
        program.macros.iter().map(|one| (one.name.as_str(), one.range.of(source))).collect();
    let expected = [
        ("NOTHING", "NOTHING"),
        ("F", "F(F(n)\n   + 1)"),
        ("__LINE__", "__LINE__"),
        ("NOTHING", "NOTHING"),
    ];
    assert_eq!(found, expected);
    assert_statements(
        &program,
        source,
        "f",
        "
        `n = F(F(n) + 1) + __LINE__;` evaluate (n = ((n + 1) + 9))
        `;` empty
        `return n;` return n
        ",
    );
}

#[test]
fn directives_reach_to_the_end_of_their_lines() {
    let source = "#define A(x) \\\r\n  x /* \r\n */ + 1\r\n  #  if 0\r\n \
                  it's\r\n#endif // x\\\r\n y\r\nint f(void) { return A(1); }";
    let Some(program) = c(source) else { return };
    let found: Vec<&str> = program.directives.iter().map(|one| one.of(source)).collect();
    let expected = ["#define A(x) \\\r\n  x /* \r\n */ + 1", "#  if 0", "#endif // x\\\r\n y"];
    assert_eq!(found, expected);
}

#[test]
fn groups_that_are_left_out_do_not_count() {
    let source = "int f(int n) {\n#ifdef X\n  n--\n#else\n  n++\n#endif\n  ; \
                  n = n\n#if 0\n * '\n#endif\n   + 1;\n  if (n)\n#ifndef X\n    n = 2;\n\
                  #else\n    n = 3;\n#endif\n  return n; }";
    let Some(program) = c(source) else { return };
    assert_statements(
        &program,
        source,
        "f",
        "
        `n++ #endif ;` evaluate (n++)
        `n = n #if 0 * ' #endif + 1;` evaluate (n = (n + 1))
        `if (n) #ifndef X n = 2;` if n
          `n = 2;` evaluate (n = 2)
        `return n;` return n
        ",
    );
}

#[test]
fn assert_and_errno_are_expressions() {
    let source = "#include <assert.h>\n#include <errno.h>\n#include <stdbool.h>\n\
                  #include <stddef.h>\nint f(int n) { bool ok = true; assert(n > 0); \
                  errno = 0; char *p = NULL;\n return ok && !p; }";
    let Some(program) = c(source) else { return };
    let function = program.function("f").expect("the function");
    let lines = crate::outline::statements(&program, source, &function.body);
    assert_eq!(lines[0], "`bool ok = true;` declare ok = 1");
    assert!(lines[1].starts_with("`assert(n > 0);` evaluate ("), "{}", lines[1]);
    assert!(lines[1].contains("((n > 0) ? '0 : '__assert_fail("), "{}", lines[1]);
    assert!(!lines[1].contains("OPAQUE"), "{}", lines[1]);
    assert_eq!(lines[2], "`errno = 0;` evaluate (*'__errno_location() = 0)");
    assert_eq!(lines[3], "`char *p = NULL;` declare p = NULL");
}

#[test]
fn function_that_a_macro_makes_is_opaque() {
    let source = "#define MAKE(name) int name(int n) { return n; }\nMAKE(made)\n\
                  #define HEAD(name) static int name(int n)\nHEAD(half) { return n; }";
    let Some(program) = c(source) else { return };
    let made = program.function("made").expect("the function");
    assert_eq!(made.range.of(source), "MAKE(made)");
    let reason = "OPAQUE: the macro `MAKE` makes the body of the function";
    assert_statements(&program, source, "made", &format!("`MAKE(made)` {reason}"));
    assert_statements(&program, source, "half", "`return n;` return n");
    let half = program.function("half").expect("the function");
    assert_eq!(half.range.of(source), "HEAD(half) { return n; }");
}

#[test]
fn lines_are_counted_in_the_file() {
    let source = "int q(int, int);\n#define q(x, y) (q(0, __LINE__), q(x, y))\n\
                  int f(int n) {\n  n = q(n,\n    1) + __LINE__;\n  return __LINE__;\n}";
    let Some(program) = c(source) else { return };
    assert_statements(
        &program,
        source,
        "f",
        "
        `n = q(n, 1) + __LINE__;` evaluate (n = (('q('0, '5), 'q(n, 1)) + 5))
        `return __LINE__;` return 6
        ",
    );
}

#[test]
fn names_are_made_from_lines() {
    let source = "#define CAT_(a, b) a ## b\n#define CAT(a, b) CAT_(a, b)\n\
                  #define UNIQUE(x) int CAT(v, __LINE__) = x\nint f(int n) {\n  UNIQUE(n);\n  \
                  UNIQUE(n\n + 1);\n  return v5 + v7;\n}";
    let Some(program) = c(source) else { return };
    assert_statements(
        &program,
        source,
        "f",
        "
        `UNIQUE(n);` declare v5 = n
        `UNIQUE(n + 1);` declare v7 = (n + 1)
        `return v5 + v7;` return (v5 + v7)
        ",
    );
}

#[test]
fn definitions_end_with_undef() {
    let source = "#define IN(x) (x + 1)\n#define OUT(x) IN(x)\nint f(int n) { return OUT(n); }\n\
                  #undef IN\nint IN(int);\nint g(int n) { return OUT(n); }\n\
                  #define IN(x) (x + 2)\nint h(int n) { return OUT(n); }";
    let Some(program) = c(source) else { return };
    assert_statements(&program, source, "f", "`return OUT(n);` return (n + '1)");
    assert_statements(&program, source, "g", "`return OUT(n);` return IN(n)");
    assert_statements(&program, source, "h", "`return OUT(n);` return (n + '2)");
}

#[test]
fn pragmas_are_no_part_of_statements() {
    let source = "#define QUIET _Pragma(\"GCC diagnostic push\")\nint f(int n) {\n  QUIET\n  n++;\n\
                  _Pragma(\"GCC diagnostic pop\") return n;\n}";
    let Some(program) = c(source) else { return };
    let expected = "`n++;` evaluate (n++)\n`return n;` return n";
    assert_statements(&program, source, "f", expected);
}

#[test]
fn macros_of_the_command_line_are_left_as_they_are() {
    let source = "int f(int n) { BEGIN n = LIMIT; INC(n); n = LIMIT + 1; BOTH(n) END }";
    let flags = ["-DBEGIN=", "-DEND=", "-DLIMIT=10", "-DINC(x)=x++", "-DBOTH(x)=x = 1; return x;"];
    let Some(program) = crate::read("test.c", source, &flags) else { return };
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    crate::properties::check(&program, source);
    assert_statements(
        &program,
        source,
        "f",
        "
        `n = LIMIT;` evaluate (n = 10)
        `INC(n);` evaluate OPAQUE: an operator that libclang does not show
        `n = LIMIT + 1;` evaluate (n = (10 + 1))
        `BOTH(n)` expanded
          `BOTH(n)` evaluate OPAQUE: an operator that libclang does not show
          `BOTH(n)` return 'n
        ",
    );
}
