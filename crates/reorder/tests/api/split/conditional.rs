//! Conditional statements.

use super::shop;

/// Listing 5 of the paper, but that a statement without a query stays with its query.
#[test]
fn alternatives_of_the_paper_are_split() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    char id[20];
    if (c == 'G') {
        PUT_A(n, 1);
    } else {
        format(id, \"%d\", n);
        text(\"UPDATE b SET x = $1\", id);
    }
",
        "
    char id[20];
    if (c == 'G') {
        PUT_A(n, 1);
    }
    if (!(c == 'G')) {
        format(id, \"%d\", n);
        text(\"UPDATE b SET x = $1\", id);
    }
",
    );
}

#[test]
fn each_query_of_a_body_gets_its_own_if() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    if (c > 3) {
        PUT_A(n, 1); // first
        PUT_B(n, 1);
        out[0] = 3;
    } else {
        PUT_B(n, 2);
        PUT_A(n, 2);
    }
",
        "
    if (c > 3) {
        PUT_A(n, 1); // first
    }
    if (c > 3) {
        PUT_B(n, 1);
        out[0] = 3;
    }
    if (!(c > 3)) {
        PUT_B(n, 2);
    }
    if (!(c > 3)) {
        PUT_A(n, 2);
    }
",
    );
}

#[test]
fn condition_that_a_part_changes_is_evaluated_once() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    if (list[1] > c) {
        c = PUT_A(n, 1);
        PUT_B(n, 1);
    }
",
        "
    int clearway_condition1 = (list[1] > c) ? 1 : 0;
    if (clearway_condition1) {
        c = PUT_A(n, 1);
    }
    if (clearway_condition1) {
        PUT_B(n, 1);
    }
",
    );
    shop.splits(
        "
    if (c > 3 && n < 9) {
        c = PUT_A(n, 1);
        PUT_B(n, 1);
    }
",
        "
    int clearway_condition1 = (c > 3 && n < 9) ? 1 : 0;
    if (clearway_condition1) {
        c = PUT_A(n, 1);
    }
    if (clearway_condition1) {
        PUT_B(n, 1);
    }
",
    );
    shop.splits(
        "
    if (c) {
        PUT_A(n, 1);
        c = PUT_B(n, 1);
    }
",
        "
    if (c) {
        PUT_A(n, 1);
    }
    if (c) {
        c = PUT_B(n, 1);
    }
",
    );
    // The body that is executed if the condition holds is a part of what stands before.
    shop.splits(
        "
    if (c) {
        c = 0;
    } else {
        PUT_A(n, 1);
        PUT_B(n, 1);
    }
",
        "
    int clearway_condition1 = (c) ? 1 : 0;
    if (clearway_condition1) {
        c = 0;
    } else {
        PUT_A(n, 1);
    }
    if (!(clearway_condition1)) {
        PUT_B(n, 1);
    }
",
    );
}

#[test]
fn condition_with_an_effect_is_evaluated_once() {
    let Some(mut shop) = shop() else { return };
    let before = "
    if (c++ > 3) {
        PUT_A(n, 1);
        PUT_B(n, 1);
    }
";
    shop.splits(
        before,
        "
    int clearway_condition1 = (c++ > 3) ? 1 : 0;
    if (clearway_condition1) {
        PUT_A(n, 1);
    }
    if (clearway_condition1) {
        PUT_B(n, 1);
    }
",
    );
    shop.cpp = true;
    shop.splits(
        before,
        "
    int clearway_condition1;
    clearway_condition1 = (c++ > 3) ? 1 : 0;
    if (clearway_condition1) {
        PUT_A(n, 1);
    }
    if (clearway_condition1) {
        PUT_B(n, 1);
    }
",
    );
}

#[test]
fn condition_without_an_effect_is_copied() {
    let Some(shop) = shop() else { return };
    shop.splits(
        "
    if (next(c) > 3 && list[0] == 4) {
        PUT_A(n, 1);
        PUT_B(n, 1);
    }
",
        "
    if (next(c) > 3 && list[0] == 4) {
        PUT_A(n, 1);
    }
    if (next(c) > 3 && list[0] == 4) {
        PUT_B(n, 1);
    }
",
    );
}

#[test]
fn value_of_a_declaration_forbids_a_split() {
    let Some(shop) = shop() else { return };
    shop.refuses(
        "
    if (c) {
        int v = GET_A(n);
        PUT_B(n, v);
    }
",
        &["the declaration of `v`"],
    );
    shop.refuses(
        "
    if (c) {
        int v;
        v = GET_A(n);
        PUT_B(n, v);
    }
",
        &["the value of `v` is used behind the split (declaration)"],
    );
    shop.splits(
        "
    if (c) {
        int v;
        v = GET_A(n);
        list[0] = v;
        v = GET_B(n);
        list[1] = v;
    }
",
        "
    if (c) {
        int v;
        v = GET_A(n);
        list[0] = v;
    }
    if (c) {
        int v;
        v = GET_B(n);
        list[1] = v;
    }
",
    );
}

#[test]
fn label_barrier_and_form_forbid_a_split() {
    let Some(shop) = shop() else { return };
    shop.refuses(
        "
    if (c) {
        PUT_A(n, 1);
again:
        PUT_B(n, 1);
    }
",
        &["a label stands in it (jump)"],
    );
    shop.refuses(
        "    if (c) {\n        PUT_A(n, 1);\n        unknown(c);\n        PUT_B(n, 1);\n    }\n",
        &["(barrier)"],
    );
    shop.refuses(
        "    if (c)\n    /* both */ {\n        PUT_A(n, 1);\n        PUT_B(n, 1);\n    }\n",
        &["it is not written as `if (…) { … }` (form)"],
    );
}

#[test]
fn exit_in_a_part_does_not_forbid_a_split() {
    let Some(shop) = shop() else { return };
    let body = "
    if (c) {
        if (run(\"UPDATE a SET x = 1\") != 0) {
            run(\"ROLLBACK\");
            return -1;
        }
        PUT_B(n, 1);
    }
";
    let split = shop.split(body);
    assert!(split.contains("return -1;\n        }\n    }\n    if (c) {\n"), "{split}");
}
