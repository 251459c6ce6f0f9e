//! The splits that are made: those that lower the expected cost.

use super::{shop, source};

const HOT: &str = "put(\"UPDATE hot SET x = 1 WHERE id = $1\", n, 1);";

#[test]
fn hot_query_moves_out_of_a_branch() {
    let Some(shop) = shop() else { return };
    let text = source(&format!(
        "    if (c) {{\n        {HOT}\n        PUT_B(n, 1);\n    }}\n    PUT_A(n, 1);"
    ));
    let rewritten = shop.rewritten(&text);
    let hot = rewritten.text.find("UPDATE hot").unwrap();
    assert!(rewritten.text.find("UPDATE a").unwrap() < hot, "{}", rewritten.text);
    assert!(rewritten.text.find("UPDATE b").unwrap() < hot, "{}", rewritten.text);
    assert_eq!(rewritten.text.matches("if (c) {").count(), 2, "{}", rewritten.text);
    let [split] = &rewritten.splits[..] else { panic!("{:?}", rewritten.splits) };
    assert!(split.to_string().contains("the conditional statement at line"), "{split}");
    // Its lines are those of the text before the split.
    assert!(text.lines().nth(split.line - 1).unwrap().contains("if (c)"));
    assert!(text.lines().nth(split.behind - 1).unwrap().contains("UPDATE hot"));
    let report = &rewritten.transactions[0];
    let of_b =
        report.units.iter().find(|unit| unit.queries.iter().any(|one| one.contains("b SET")));
    let first = of_b.unwrap().lines.0;
    assert!(text.lines().skip(first - 1).take(2).any(|line| line.contains("UPDATE b")), "{first}");
    // Once more changes nothing.
    let again = shop.rewritten(&rewritten.text);
    assert_eq!(again.text, rewritten.text);
    assert!(again.splits.is_empty());
}

#[test]
fn hot_query_moves_out_of_a_loop() {
    let Some(shop) = shop() else { return };
    let text = source(&format!(
        "    for (int i = 0; i < n; i++) {{\n        {HOT}\n        PUT_B(i, 1);\n    }}\n    \
         PUT_A(n, 1);"
    ));
    let rewritten = shop.rewritten(&text);
    let place = |query: &str| rewritten.text.find(query).unwrap();
    assert!(place("UPDATE b") < place("UPDATE hot"), "{}", rewritten.text);
    // Else the row of `a` would be locked during the whole loop.
    assert!(place("UPDATE hot") < place("UPDATE a"), "{}", rewritten.text);
    assert_eq!(rewritten.splits.len(), 1, "{}", rewritten.text);
    assert_eq!(rewritten.text.matches("for (int i").count(), 2, "{}", rewritten.text);
}

#[test]
fn split_that_brings_nothing_leaves_no_trace() {
    let Some(shop) = shop() else { return };
    // The hot query stands last already.
    let text = source(&format!("    if (c) {{\n        PUT_A(n, 1);\n        {HOT}\n    }}"));
    let rewritten = shop.rewritten(&text);
    assert!(shop.candidates(&text).iter().any(|one| one.outcome.is_ok()));
    assert_eq!(rewritten.text, text);
    assert!(rewritten.splits.is_empty());
    // It cannot move: what stands behind it reads what it returns.
    let text = source(
        "    int v;\n    if (c) {\n        \
         v = get(\"UPDATE hot SET x = 1 RETURNING x\", n);\n        PUT_A(n, v);\n    }",
    );
    assert_eq!(shop.rewritten(&text).text, text);
}

/// Returns the function of a source, with another name.
fn function(body: &str, name: &str) -> String {
    let text = source(body).replacen("int transaction(", &format!("int {name}("), 1);
    text[text.find(&format!("int {name}(")).unwrap()..].to_owned()
}

#[test]
fn functions_of_one_file_are_split_as_if_each_were_alone() {
    let Some(shop) = shop() else { return };
    let head = &source("")[..source("").find("int transaction(").unwrap()];
    let helper = "static int twice(int value)\n{\n    return 2 * value;\n}\n";
    let branch =
        format!("    if (c) {{\n        {HOT}\n        PUT_B(n, 1);\n    }}\n    PUT_A(n, 1);");
    let in_loop = format!(
        "    for (int i = 0; i < twice(n); i++) {{\n        {HOT}\n        PUT_B(i, 1);\n    \
         }}\n    PUT_A(n, 1);"
    );
    // The value of an iteration is kept in an array.
    let kept = format!(
        "    int v;\n    for (int i = 0; i < 9; i++) {{\n        v = GET_A(i);\n        \
         {HOT}\n        PUT_B(i, v);\n    }}\n    PUT_A(n, 1);"
    );
    let last = format!("    // It stands last: élan.\n    PUT_A(n, 1);\n    {HOT}");
    let bodies = [&kept, &branch, &last, &in_loop, &kept];
    let functions: Vec<String> =
        (0..).zip(bodies).map(|(at, body)| function(body, &format!("t{at}"))).collect();
    let alone: String = functions
        .iter()
        .map(|one| {
            let before = format!("{head}{helper}");
            let text = shop.rewritten(&format!("{before}{one}")).text;
            text[before.len()..].to_owned()
        })
        .collect();
    let text = format!("{head}{helper}{}", functions.concat());
    let rewritten = shop.rewritten(&text);
    assert_eq!(rewritten.text, format!("{head}{helper}{alone}"));
    let split: Vec<&str> = rewritten.splits.iter().map(|one| one.function.as_str()).collect();
    assert_eq!(
        split.iter().filter(|&&one| one == "t0").count(),
        split.iter().filter(|&&one| one == "t4").count()
    );
    assert!(["t0", "t1", "t3", "t4"].iter().all(|one| split.contains(one)), "{split:?}");
    for name in ["t0", "t1", "t3", "t4"] {
        let first = rewritten.splits.iter().find(|one| one.function == name).unwrap();
        let line = text.lines().nth(first.line - 1).unwrap();
        assert!(line.contains("if (c)") || line.contains("for ("), "{first}: {line}");
        let start = text.find(&format!("int {name}(")).unwrap();
        let start = text[..start].lines().count();
        assert!((start..start + 16).contains(&first.line), "{first}; it begins at {start}");
    }
}
