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
        &["it reads `v`, which the earlier part writes in each iteration, and no array can keep \
           the values: neither a constant in the head of the loop nor a subscript of an array of \
           known length, executed in each iteration, bounds `i` (overwritten value)"],
    );
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
    shop.refuses(
        "
    for (int i = 0; i < n; i++) {
        PUT_A(i, 1);
        if (list[i])
            break;
        PUT_B(i, 1);
    }
",
        &["a `break` of the loop or a label stands in it (jump)"],
    );
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
