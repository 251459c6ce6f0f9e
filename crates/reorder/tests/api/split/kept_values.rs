//! Values that a loop keeps for its later part: computed again, or kept in arrays.

use super::shop;

#[test]
fn value_of_the_iteration_is_kept_in_an_array() {
    let Some(mut shop) = shop() else { return };
    for cpp in [false, true] {
        shop.cpp = cpp;
        shop.splits(
            "
    int v;
    for (int i = 0; i < 15; i++) {
        v = GET_A(i);
        PUT_B(i, v);
    }
    out[0] = v;
",
            "
    int v;
    int v_at[15];
    for (int i = 0; i < 15; i++) {
        v = GET_A(i);
        v_at[i] = v;
    }
    for (int i = 0; i < 15; i++) {
        v = v_at[i];
        PUT_B(i, v);
    }
    out[0] = v;
",
        );
    }
    // The initializer of a declaration is a value as well.
    shop.splits(
        "
    for (int i = 9; i >= 0; i--) {
        const int v = GET_A(i);
        PUT_B(i, v);
    }
",
        "
    int v_at[10];
    for (int i = 9; i >= 0; i--) {
        const int v = GET_A(i);
        v_at[i] = v;
    }
    for (int i = 9; i >= 0; i--) {
        int v = v_at[i];
        PUT_B(i, v);
    }
",
    );
}

#[test]
fn computed_value_is_computed_again() {
    let Some(shop) = shop() else { return };
    // `key` is used by both parts, `s` and `w` by the later one only.
    shop.splits(
        "
    int w, n1 = n + 1;
    char s[20];
    for (int i = 0; i < n; i++) {
        const int key = next(i);
        int x = key + n1;
        format(s, \"%d\", x);
        w = i * 2;
        PUT_A(key, 1);
        text(\"INSERT INTO b VALUES ($1)\", s);
        PUT_B(key, w);
    }
",
        "
    int w, n1 = n + 1;
    char s[20];
    for (int i = 0; i < n; i++) {
        const int key = next(i);
        PUT_A(key, 1);
    }
    for (int i = 0; i < n; i++) {
        const int key = next(i);
        int x = key + n1;
        format(s, \"%d\", x);
        w = i * 2;
        text(\"INSERT INTO b VALUES ($1)\", s);
        PUT_B(key, w);
    }
",
    );
}

#[test]
fn value_that_cannot_be_kept_ties_parts() {
    let Some(shop) = shop() else { return };
    let refused = |body: &str, reason: &str| shop.refuses(body, &[reason]);
    // Another iteration may have written it.
    refused(
        "
    int v = 0;
    for (int i = 0; i < 15; i++) {
        if (list[i])
            v = GET_A(i);
        if (v > 3)
            v = PUT_B(i, v);
    }
",
        "`v` may still have a value that the later part wrote in an earlier iteration",
    );
    refused(
        "
    int v;
    for (int i = 0; i < 15; i++) {
        if (list[i])
            v = GET_A(i);
        if (list[i])
            PUT_B(i, v);
    }
",
        "`v` may have no value at the end of the earlier part",
    );
    refused(
        "
    for (int i = 0; i < 15; i++) {
        out[0] = GET_A(i);
        PUT_B(i, out[0]);
    }
",
        "it is no variable of the function",
    );
    refused(
        "
    static int v;
    for (int i = 0; i < 15; i++) {
        v = GET_A(i);
        PUT_B(i, v);
    }
",
        "`v` is no plain local variable",
    );
    refused(
        "
    int *v;
    for (int i = 0; i < 15; i++) {
        v = &list[GET_A(i)];
        PUT_B(i, *v);
    }
",
        "`v` is no number and no array of numbers",
    );
    refused(
        "
    long long v;
    for (int i = 0; i < 2049; i++) {
        v = GET_A(i);
        PUT_B(i, (int)v);
    }
",
        "the array would take 16392 bytes",
    );
    refused(
        "
    int v;
    for (int i = 0; i < 15; i++) {
        v = GET_A(i);
        int i = v + 1;
        PUT_B(i, v);
    }
",
        "`i` hides a variable of the same name (declaration)",
    );
}

/// The bound of an array must hold in each iteration that gets to the end of the earlier part.
#[test]
fn index_is_bounded_by_what_each_iteration_executes() {
    let Some(shop) = shop() else { return };
    let split = |statement: &str| {
        shop.split(&format!(
            "    int v, known[8];\n    known[0] = 1;\n    for (int i = 0; i < n; i++) {{\n        \
             v = GET_A(i);\n        {statement}\n        PUT_B(i, v);\n    }}\n"
        ))
    };
    for (statement, length, index) in [
        ("known[i] = v;", 8, "i"),
        ("known[0] += known[i - 1];", 8, "i - 1"),
        ("if (known[i + 1] > 2 && c) v = 1;", 8, "i + 1"),
        ("v += known[i] ? 1 : c;", 8, "i"),
    ] {
        let text = split(statement);
        assert!(text.contains(&format!("int v_at[{length}];")), "{statement}: {text}");
        assert!(text.contains(&format!("v_at[{index}] = v;")), "{statement}: {text}");
    }
    for statement in [
        "if (c) known[i] = v;",
        "if (c > 2 && known[i]) v = 1;",
        "v += c ? known[i] : 1;",
        "v += sizeof known[i];",
        "v += list[i];",
        "v += known[i * 2];",
        "v += &known[i] - known;",
    ] {
        let text = split(statement);
        assert!(!text.contains("v_at"), "{statement}: {text}");
    }
    for head in [
        "for (int i = 0; i < n; i++)",
        "for (int i = -1; i < 5; i++)",
        "for (int i = 0; i != 5; i++)",
        "for (int i = n; i >= 0; i--)",
        "for (unsigned i = 9; i >= 1; i -= 2)",
        "for (signed char i = 0; i < 15; i++)",
    ] {
        shop.refuses(
            &format!(
                "    int v;\n    {head} {{\n        v = GET_A(1);\n        PUT_B(1, v);\n    }}\n"
            ),
            &["bounds `i`"],
        );
    }
}

/// Statements that are not repeated, so that their value would need an array.
#[test]
fn statement_is_not_repeated_if_its_operands_change() {
    let Some(shop) = shop() else { return };
    for body in [
        // The earlier part writes an operand, before or behind the statement.
        "key = list[i] + c;\n        c = GET_A(key);\n        PUT_B(key, 1);",
        "c = GET_A(i);\n        key = c;\n        PUT_B(key, 1);",
        // The later part writes an operand.
        "key = c;\n        PUT_A(i, 1);\n        c = PUT_B(key, 1);",
        // It reads what it writes.
        "key += i;\n        PUT_A(i, 1);\n        PUT_B(key, 1);",
        // It is not executed in each iteration.
        "if (c)\n            key = i;\n        PUT_A(i, 1);\n        PUT_B(key, 1);",
        // It has an effect.
        "key = unknown_but_pure(i);\n        PUT_A(i, 1);\n        PUT_B(key, 1);",
        "key = note_of(i);\n        PUT_A(i, 1);\n        PUT_B(key, 1);",
    ] {
        let text = format!(
            "    int key = 0;\n    for (int i = 0; i < n; i++) {{\n        {body}\n    }}\n\
             \x20   out[0] = key + c;"
        );
        let text = text.replace("unknown_but_pure", "next").replace("note_of", "random_number");
        if body.contains("unknown_but_pure") {
            assert!(shop.split(&text).matches("for (").count() == 2, "{text}");
            continue;
        }
        let split = shop.split(&text);
        assert_eq!(split.matches("for (").count(), 1, "{split}");
    }
}
