//! Loops.

use super::shop;

/// Listings 3 and 4 of the paper.
#[test]
fn loop_of_the_paper_is_split_into_three() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    int var1, var2[10];
    for (int i = 0; i < n; i++) {
        var1 = GET_A(i);
        PUT_A(i, var1 + 1);
        var2[i] = GET_B(i);
        PUT_B(i + 20, var2[i] + 1);
    }
",
        "
    int var1, var2[10];
    for (int i = 0; i < n; i++) {
        var1 = GET_A(i);
        PUT_A(i, var1 + 1);
    }
    for (int i = 0; i < n; i++) {
        var2[i] = GET_B(i);
        PUT_B(i + 20, var2[i] + 1);
    }
",
    );
}

/// The paper's table 2 is read and written at the same keys; a constraint on tables that knows no
/// keys keeps the two together. With another table they are split.
#[test]
fn element_of_the_iteration_does_not_tie_parts() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    int var2[10];
    for (int i = 0; i < n; i++) {
        var2[i] = GET_A(i);
        PUT_B(i, var2[i] + 1);
    }
",
        "
    int var2[10];
    for (int i = 0; i < n; i++) {
        var2[i] = GET_A(i);
    }
    for (int i = 0; i < n; i++) {
        PUT_B(i, var2[i] + 1);
    }
",
    );
    shop.splits(
        "
    for (int i = 0; i < n; i++) {
        list[i - 1] = GET_A(i);
        PUT_B(i, list[i - 1]);
    }
",
        "
    for (int i = 0; i < n; i++) {
        list[i - 1] = GET_A(i);
    }
    for (int i = 0; i < n; i++) {
        PUT_B(i, list[i - 1]);
    }
",
    );
}

#[test]
fn element_of_another_iteration_ties_parts() {
    let Some(shop) = shop() else { return };
    let refused = |body: &str, reason: &str| shop.refuses(body, &[reason]);
    refused(
        "
    int v[10];
    for (int i = 0; i < n; i++) {
        v[i] = GET_A(i);
        PUT_B(i, v[i + 1]);
    }
",
        "it reads `v`, which the earlier part writes in each iteration, and no array can keep the \
         values: the copy of an array needs <string.h>, which is not included (overwritten value)",
    );
    refused(
        "
    int v[10];
    for (int i = 0; i < n; i++) {
        PUT_B(i, v[i]);
        v[c] = GET_A(i);
    }
",
        "(carried value)",
    );
    refused(
        "
    int v[10], *p = v;
    for (int i = 0; i < n; i++) {
        v[i] = GET_A(i);
        PUT_B(i, v[i] + *p);
    }
",
        "(overwritten value)",
    );
    refused(
        "
    int v[10];
    for (int i = 0; i < n; i++) {
        v[i] = GET_A(i);
        i += PUT_B(i, v[i]);
    }
",
        "it writes `i`, which the head of the loop uses (condition)",
    );
}

#[test]
fn value_of_the_iteration_ties_parts() {
    let Some(shop) = shop() else { return };
    shop.refuses(
        "
    int v;
    for (int i = 0; i < n; i++) {
        v = GET_A(i);
        PUT_B(i, v);
    }
",
        &["it reads `v`, which the earlier part writes in each iteration, and no array can keep the \
           values: neither a constant in the head of the loop nor a subscript of an array of known \
           length, executed in each iteration, bounds `i` (overwritten value)"],
    );
}

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
            "    int key = 0;\n    for (int i = 0; i < n; i++) {{\n        {body}\n    }}\n    out[0] = \
             key + c;"
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

#[test]
fn value_of_the_iteration_before_ties_parts() {
    let Some(shop) = shop() else { return };
    shop.refuses(
        "
    int v = 0;
    for (int i = 0; i < n; i++) {
        PUT_A(i, v);
        v = GET_B(i);
    }
",
        &["it reads `v`, which the later part wrote in an earlier iteration (carried value)"],
    );
}

#[test]
fn value_within_a_part_does_not_tie_parts() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    int v, sum = 0;
    char s[20];
    for (int i = 0; i < n; i++) {
        format(s, \"%d\", i); // key
        v = text(\"INSERT INTO a VALUES ($1)\", s);
        sum = sum + v;
        format(s, \"%d\", i + 1); /* other key */
        v = text(\"INSERT INTO b VALUES ($1)\", s);
    }
    out[0] = sum + v;
",
        "
    int v, sum = 0;
    char s[20];
    for (int i = 0; i < n; i++) {
        format(s, \"%d\", i); // key
        v = text(\"INSERT INTO a VALUES ($1)\", s);
        sum = sum + v;
    }
    for (int i = 0; i < n; i++) {
        format(s, \"%d\", i + 1); /* other key */
        v = text(\"INSERT INTO b VALUES ($1)\", s);
    }
    out[0] = sum + v;
",
    );
}

#[test]
fn last_writer_stays_the_last() {
    let Some(shop) = shop() else { return };
    shop.refuses(
        "
    int v = 0;
    for (int i = 0; i < n; i++) {
        v = PUT_A(i, 1);
        if (i > 3)
            v = PUT_B(i, 1);
    }
    c = v;
",
        &["both parts write `v`, and code behind the loop reads it (last value)"],
    );
    shop.refuses(
        "
    for (int i = 0; i < n; i++) {
        out[0] = PUT_A(i, 1);
        if (i > 3)
            out[0] = PUT_B(i, 1);
    }
",
        &["(last value)"],
    );
}

#[test]
fn part_must_not_write_what_the_head_uses() {
    let Some(shop) = shop() else { return };
    shop.refuses(
        "
    for (int i = 0; i < n; i++) {
        n = PUT_A(i, 1);
        PUT_B(i, 1);
    }
",
        &["it writes `n`, which the head of the loop uses (condition)"],
    );
    shop.refuses(
        "
    for (int i = 0; i < n; i++) {
        PUT_A(i, 1);
        i = PUT_B(i, 1);
    }
",
        &["it writes `i`, which the head of the loop uses (condition)"],
    );
}

#[test]
fn only_loop_that_counts_is_split() {
    let Some(shop) = shop() else { return };
    for head in ["for (; n > 0; n--)", "for (int i = 0; i < n; i = i + c)", "while (n-- > 0)"] {
        let body = format!("    {head} {{\n        PUT_A(c, 1);\n        PUT_B(c, 1);\n    }}\n");
        shop.refuses(&body, &["(form)"]);
    }
    for head in ["for (int i = n; i > 0; i -= 2)", "for (c = 1; c < n; ++c)"] {
        let whole = format!("    {head} {{\n        PUT_A(3, 1);\n        PUT_B(4, 1);\n    }}");
        let split = format!(
            "    {head} {{\n        PUT_A(3, 1);\n    }}\n    \
             {head} {{\n        PUT_B(4, 1);\n    }}"
        );
        shop.splits(&whole, &split);
    }
    shop.refuses(
        "    for (int i = 0; i < n; i += next(0) + get(\"SELECT 1\", 0)) {\n        \
         PUT_A(3, 1);\n        PUT_B(4, 1);\n    }\n",
        &["(form)"],
    );
    shop.refuses(
        "
    int i;
    for (i = 0; get(\"SELECT 1\", i) < n; i++) {
        PUT_A(i, 1);
        PUT_B(i, 1);
    }
",
        &["the head of the loop does more than to count (condition)"],
    );
}

#[test]
fn jump_within_a_loop_forbids_a_split() {
    let Some(shop) = shop() else { return };
    for jump in ["break", "continue"] {
        shop.refuses(
            &format!(
                "    for (int i = 0; i < n; i++) {{\n        PUT_A(i, 1);\n        if (list[i])\n\
                             {jump};\n        PUT_B(i, 1);\n    }}\n"
            ),
            &["(jump)"],
        );
    }
}

#[test]
fn declaration_is_copied_or_moved_if_it_gives_no_value() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    for (int i = 0; i < n; i++) {
        int v;
        int w;
        v = next(i);
        PUT_A(i, v);
        v = next(i + 1);
        w = v + 1;
        PUT_B(i, w);
    }
",
        "
    for (int i = 0; i < n; i++) {
        int v;
        v = next(i);
        PUT_A(i, v);
    }
    for (int i = 0; i < n; i++) {
        int v;
        int w;
        v = next(i + 1);
        w = v + 1;
        PUT_B(i, w);
    }
",
    );
    shop.splits(
        "
    for (int i = 0; i < n; i++) {
        int v = i, w;
        PUT_A(i, 1);
        w = i;
        PUT_B(i, w);
    }
",
        "
    for (int i = 0; i < n; i++) {
        int v = i, w;
        PUT_A(i, 1);
        w = i;
        PUT_B(i, w);
    }
",
    );
}

#[test]
fn queries_of_different_iterations_keep_their_order() {
    let Some(mut shop) = shop() else { return };
    shop.refuses(
        "
    for (int i = 0; i < n; i++) {
        PUT_A(i, 1);
        PUT_A(i + 1, 2);
    }
",
        &["between the later part and the next iteration: both use the table `a` (same table)"],
    );
    shop.refuses(
        "
    for (int i = 0; i < n; i++) {
        run(\"INSERT INTO parent VALUES (1, 2)\");
        run(\"INSERT INTO child VALUES (1, 2)\");
    }
",
        &["(foreign key)"],
    );
    let reads = "
    int v, w;
    for (int i = 0; i < n; i++) {
        v = GET_A(i);
        w = GET_B(i);
    }
";
    assert!(shop.split(reads).contains("v = GET_A(i);\n    }\n    for (int i"));
    shop.options.isolation = None;
    shop.refuses(reads, &["(read order)"]);
    shop.options.relaxed_reads = true;
    assert!(shop.split(reads).contains("v = GET_A(i);\n    }\n    for (int i"));
}

#[test]
fn exit_that_rolls_back_does_not_tie_parts() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    for (int i = 0; i < n; i++) {
        if (run(\"UPDATE a SET x = 1\") != 0) {
            run(\"ROLLBACK\");
            return -1;
        }
        if (run(\"UPDATE b SET x = 1\") != 0) {
            run(\"ROLLBACK\");
            return -2;
        }
    }
",
        "
    for (int i = 0; i < n; i++) {
        if (run(\"UPDATE a SET x = 1\") != 0) {
            run(\"ROLLBACK\");
            return -1;
        }
    }
    for (int i = 0; i < n; i++) {
        if (run(\"UPDATE b SET x = 1\") != 0) {
            run(\"ROLLBACK\");
            return -2;
        }
    }
",
    );
}

#[test]
fn exit_ties_what_it_guards_and_what_is_seen_behind_it() {
    let Some(shop) = shop() else { return };
    shop.refuses(
        "
    for (int i = 0; i < n; i++) {
        if (run(\"UPDATE a SET x = 1\") != 0) {
            run(\"ROLLBACK\");
            return 100 / list[c];
        }
        if (run(\"UPDATE b SET x = 1\") != 0 || list[c] == 0) {
            run(\"ROLLBACK\");
            return -2;
        }
    }
",
        &["it leaves the transaction depending on what `list` leads to (exit)"],
    );
    shop.refuses(
        "
    int done = 0;
    for (int i = 0; i < n; i++) {
        if (run(\"UPDATE a SET x = 1\") != 0) {
            run(\"ROLLBACK\");
            return done;
        }
        PUT_B(i, 1);
        done++;
    }
",
        &["`done`"],
    );
    shop.refuses(
        "
    for (int i = 0; i < n; i++) {
        note(i);
        PUT_A(i, 1);
        PUT_B(i, 1);
        note(i);
    }
",
        &["(outside effect)"],
    );
}

#[test]
fn barrier_and_unclear_form_forbid_a_split() {
    let Some(mut shop) = shop() else { return };
    shop.refuses(
        "    for (int i = 0; i < n; i++) {\n        PUT_A(i, 1);\n        unknown(i);\n        \
         PUT_B(i, 1);\n    }\n",
        &["(barrier)"],
    );
    shop.refuses(
        "    for (int i = 0; i < n; i++) {\n        PUT_A(i, 1);\n#define NOTHING\n        \
         PUT_B(i, 1);\n    }\n",
        &["a preprocessor directive stands there (barrier)"],
    );
    shop.cpp = true;
    shop.refuses(
        "
    struct Guard { Guard(); ~Guard(); };
    for (int i = 0; i < n; i++) {
        PUT_A(i, 1);
        Guard guard;
        PUT_B(i, 1);
    }
",
        &["(barrier)", ""],
    );
}
