//! Plain C.

use clearway_reorder::ir::{Language, Scope, StatementKind};

use crate::{
    c,
    outline::{assert_statements, expression, type_name},
};

/// Compares the statements of `int f(int a, int b, char *p)` with the body `body`.
fn body(body: &str, expected: &str) {
    let source = format!(
        "int g(int); struct s {{ int x; int y[2]; struct s *next; int (*call)(int); \
         union {{ int u; float v; }}; }};\n\
         enum color {{ RED, GREEN = 5 }}; int shared; int f(int a, int b, char *p) {{ {body} }}"
    );
    let Some(program) = c(&source) else { return };
    assert_statements(&program, &source, "f", expected);
}

#[test]
fn operators_are_found_between_their_operands() {
    body(
        "a = b - -1 * (a << 2) % 3; a += b; b >>= a--; --a; a = !b && ~a || a != b, 3;",
        "
        `a = b - -1 * (a << 2) % 3;` evaluate (a = (b - (((-1) * (a << 2)) % 3)))
        `a += b;` evaluate (a += b)
        `b >>= a--;` evaluate (b >>= (a--))
        `--a;` evaluate (a--)
        `a = !b && ~a || a != b, 3;` evaluate ((a = (((!b) && (~a)) || (a != b))), 3)
        ",
    );
}

#[test]
fn operators_are_found_between_comments() {
    body(
        "a /* = */ = /*+*/ b // -\n - ((( /* ( */ a)));",
        "`a /* = */ = /*+*/ b // - - ((( /* ( */ a)));` evaluate (a = (b - a))",
    );
}

#[test]
fn constants_have_one_form() {
    body(
        r"a = 0x1F + 010 + 'x' + '\n' + 1UL + GREEN; b = sizeof ( a ); p = (void *)0; p = 0;
          a = 2.50 + 1e3f; a = (int)sizeof(struct s);",
        r"
        `a = 0x1F + 010 + 'x' + '\n' + 1UL + GREEN;` evaluate (a = (((((31 + 8) + 120) + 10) + 1)
        | + GREEN))
        `b = sizeof ( a );` evaluate (b = sizeof ( a ))
        `p = (void *)0;` evaluate (p = NULL)
        `p = 0;` evaluate (p = 0)
        `a = 2.50 + 1e3f;` evaluate (a = (2.50 + 1e3f))
        `a = (int)sizeof(struct s);` evaluate (a = (int)sizeof(struct s))
        ",
    );
}

#[test]
fn strings_are_joined_and_decoded() {
    body(
        r#"const char *q = "SELECT \"ä\"" /* x */ " FROM\tt\x41" "\101";"#,
        r#"
        `const char *q = "SELECT \"ä\"" /* x */ " FROM\tt\x41" "\101";` declare
        | q = "SELECT \"ä\" FROM\ttAA"
        "#,
    );
}

#[test]
fn fields_name_their_records() {
    body(
        "struct s t, *q = &t; t.x = q->next->y[a]; q->u = 1; (*q).x++; *p++ = p[1];",
        "
        `struct s t, *q = &t;` declare t; q = &t
        `t.x = q->next->y[a];` evaluate (t.<struct s>x = '*'*q.<struct s>next.<struct s>y[a])
        `q->u = 1;` evaluate (''*q.<struct s>.<UNNAMED>u = 1)
        `(*q).x++;` evaluate (*q.<struct s>x++)
        `*p++ = p[1];` evaluate (*(p++) = p[1])
        "
        .replace("UNNAMED", "union s::(anonymous at test.c:1:75)")
        .as_str(),
    );
}

#[test]
fn calls_through_fields_have_no_structure_among_their_arguments() {
    body(
        "struct s *q; a = q->call(1) + (*q->call)(2); int (*h)(int) = g; a = h(3) + (*h)(g(4));
         a = (q = q->next)->call(5);",
        "
        `struct s *q;` declare q
        `a = q->call(1) + (*q->call)(2);` evaluate (a = (<struct s.call>(1) + <struct s.call>(2)))
        `int (*h)(int) = g;` declare h = g
        `a = h(3) + (*h)(g(4));` evaluate (a = (<pointer>(3) + <pointer>(g(4))))
        `a = (q = q->next)->call(5);` evaluate (a = OPAQUE: a call through a pointer that an
        | expression with an effect yields)
        ",
    );
}

#[test]
fn initializers_stand_in_the_order_of_fields() {
    body(
        "struct s t = { .y = {1, 2}, .x = a }, w = { .next = &t }; int m[2][2] = {1, 2, 3, 4};
         struct s *q = &(struct s){ 7 }; int n[3] = { [1] = 2 }; char z[4] = {\"ab\"};
         struct s e = { 1, 2, 3 }; union { int i; float f; } v = { .f = 1 }, w2 = { 2 };",
        "
        `struct s t = { .y = {1, 2}, .x = a }, w = { .next = &t };` declare t = {a, {1, 2}}; w =
        | {'0, '0, &t}
        `int m[2][2] = {1, 2, 3, 4};` declare m = OPAQUE: a list without its inner braces
        `struct s *q = &(struct s){ 7 };` declare q = &{7}
        `int n[3] = { [1] = 2 };` declare n = {'0, 2}
        `char z[4] = {\"ab\"};` declare z = \"ab\"
        `struct s e = { 1, 2, 3 };` declare e = OPAQUE: a list without its inner braces
        `union { int i; float f; } v = { .f = 1 }, w2 = { 2 };` declare v = OPAQUE: a list
        | without its inner braces; w2 = {2}
        ",
    );
}

#[test]
fn branches_and_loops_have_their_parts() {
    body(
        "if (a) b = 1; else if (b) { } else return 2;
         for (int i = 0, j = 9; i < j; i++, j--) continue;
         for (;;) { break; }
         for (a = 0; ; ) if (a) break;
         for (; a < 3;) ;
         for (;; a++) { goto out; }
         do a--; while (a > 0); while (b) { b--; }
         out: return a;",
        "
        `if (a) b = 1; else if (b) { } else return 2;` if a
          `b = 1;` evaluate (b = 1)
          `if (b) { } else return 2;` if b
            `{ }` block
            `return 2;` return 2
        `for (int i = 0, j = 9; i < j; i++, j--) continue;` for (i < j); ((i++), (j--))
          `int i = 0, j = 9;` declare i = 0; j = 9
          `continue;` continue
        `for (;;) { break; }` for -; -
          `{ break; }` block
            `break;` break
        `for (a = 0; ; ) if (a) break;` for -; -
          `a = 0;` evaluate (a = 0)
          `if (a) break;` if a
            `break;` break
        `for (; a < 3;) ;` for (a < 3); -
          `;` empty
        `for (;; a++) { goto out; }` for -; (a++)
          `{ goto out; }` block
            `goto out;` goto out
        `do a--; while (a > 0);` dowhile (a > 0); -
          `a--;` evaluate (a--)
        `while (b) { b--; }` while b; -
          `{ b--; }` block
            `b--;` evaluate (b--)
        `out: return a;` label out
          `return a;` return a
        ",
    );
}

#[test]
fn switch_has_statements_without_labels() {
    body(
        "switch (a) { case 1: case RED: b = 1; b++; break; default: { b = 2; } case 9 ... 12: ; }",
        "
        `switch (a) { case 1: case RED: b = 1; b++; break; default: { b = 2; } case 9 ... 12: ;
        | }` switch a
          `b = 1;` evaluate (b = 1)
          `b++;` evaluate (b++)
          `break;` break
          `{ b = 2; }` block
            `b = 2;` evaluate (b = 2)
          `;` empty
        ",
    );
}

#[test]
fn what_has_no_form_is_opaque() {
    body(
        "switch (a) { case 1: if (b) { case 2: b = 1; } }
         int vla[a]; __asm__(\"nop\"); void *l = &&out; goto *l;
         a = ({ int c = b; c; }); out: a = b ?: 3; a = g(1) ?: 3;
         int kept __attribute__((unused)) = 1;",
        "
        `switch (a) { case 1: if (b) { case 2: b = 1; } }` OPAQUE: a label of a `switch` within
        | another statement
        `int vla[a];` OPAQUE: an array whose length is not a constant
        `__asm__(\"nop\");` OPAQUE: inline assembly
        `void *l = &&out;` declare l = OPAQUE: the address of a label
        `goto *l;` OPAQUE: a computed `goto`
        `a = ({ int c = b; c; });` OPAQUE: a statement expression
        `out: a = b ?: 3;` label out
          `a = b ?: 3;` evaluate (a = (b ? b : 3))
        `a = g(1) ?: 3;` evaluate (a = OPAQUE: `?:` with an effect)
        `int kept __attribute__((unused)) = 1;` declare kept = 1
        ",
    );
}

#[test]
fn cleanup_and_setjmp_are_opaque() {
    let source = "#include <setjmp.h>\nvoid clean(int *); jmp_buf env;\n\
                  int f(int a) { __attribute__((cleanup(clean))) int c = 1;\n\
                  if (setjmp(env)) { a = 1; }\n{ a = 2; longjmp(env, 1); }\nreturn a + c; }";
    let Some(program) = c(source) else { return };
    assert_statements(
        &program,
        source,
        "f",
        "
        `__attribute__((cleanup(clean))) int c = 1;` OPAQUE: a declaration with the attribute
        | `cleanup`
        `if (setjmp(env)) { a = 1; }` OPAQUE: a call of `_setjmp`
        `{ a = 2; longjmp(env, 1); }` block
          `a = 2;` evaluate (a = 2)
          `longjmp(env, 1);` OPAQUE: a call of `longjmp`
        `return a + c;` return (a + c)
        ",
    );
}

#[test]
fn variables_stand_once_with_scope_and_type() {
    let source = "typedef unsigned long money; struct in { money m; struct in *more; };\n\
                  static const char *const QUERY = \"SELECT 1\"; const char TEXT[] = \"x\" \"y\";\n\
                  static volatile int flag; extern int other; int unused;\n\
                  int f(struct in *input, const char name[8], money m) {\n\
                  static int calls = 0; _Bool ok = 1; char buffer[16]; const money k = m;\n\
                  extern int other; calls++; flag = other; QUERY; TEXT; QUERY;\n\
                  return ok && buffer[0] && k && input->m && name; }";
    let Some(program) = c(source) else { return };
    let found: Vec<String> = program
        .variables
        .iter()
        .map(|one| {
            let flags = format!(
                "{}{}",
                if one.constant { " const" } else { "" },
                if one.volatile { " volatile" } else { "" }
            );
            let initial = one.initial.as_ref().map(|value| expression(&program, value));
            let initial = initial.map_or(String::new(), |value| format!(" = {value}"));
            let scope = match one.scope {
                Scope::Parameter => "parameter",
                Scope::Local => "local",
                Scope::Static => "static",
                Scope::Global => "global",
            };
            format!("{scope}{flags} {}: {}{initial}", one.name, type_name(&one.ty))
        })
        .collect();
    let expected = [
        "parameter input: *struct in",
        "parameter name: *const char",
        "parameter m: unsigned long",
        "static calls: int",
        "local ok: bool",
        "local buffer: [16]char",
        "local const k: unsigned long",
        "global other: int",
        "global volatile flag: int",
        "global const QUERY: *const char = \"SELECT 1\"",
        "global const TEXT: [3]char = \"xy\"",
    ];
    assert_eq!(found, expected);
    assert_eq!(program.records.len(), 1);
    assert_eq!(program.records[0].name, "struct in");
    assert_eq!(program.records[0].fields.len(), 2);
    assert_eq!(program.language, Language::C);
}

#[test]
fn functions_of_all_styles_are_found() {
    let source = "int old(p, n)\n  char *p; int n;\n{ return p[n]; }\n\
                  static inline void nothing(void) {}\nint declared(int);\n\
                  struct r { int a; } make(void) { struct r v = {1}; return v; }";
    let Some(program) = c(source) else { return };
    let found: Vec<(&str, &str, usize)> = program
        .functions
        .iter()
        .map(|one| (one.name.as_str(), one.range.of(source), one.parameters.len()))
        .collect();
    assert_eq!(found[0], ("old", "int old(p, n)\n  char *p; int n;\n{ return p[n]; }", 2));
    assert_eq!(found[1], ("nothing", "static inline void nothing(void) {}", 0));
    assert_eq!((found[2].0, found.len()), ("make", 3));
    assert_eq!(type_name(&program.functions[2].result), "struct r");
    assert_eq!(program.functions[1].body.kind, StatementKind::Block(Vec::new()));
}
