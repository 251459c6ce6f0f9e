//! Programs with a loop that writes rows of one table twice, by keys that may be other ones in each
//! iteration, or come back.
//!
//! The two writes of a row do not commute: a loop that is split although a key comes back gives
//! other rows. The keys stand in the SQL, by which the tool finds them.

use clearway_testkit::Random;

use crate::program::Program;

/// The statements that set the key, with a statement that stands before the query.
const KEYS: [(&str, &str); 14] = [
    // Another one in each iteration.
    ("", "i"),
    ("", "i + 1"),
    ("", "in->keys[i]"),
    ("", "in->keys[i]"),
    ("key = in->keys[i];", "key"),
    ("key = i + 1;", "key"),
    // One that comes back, or may.
    ("", "in->list[i]"),
    ("", "in->keys[i & 1]"),
    ("", "in->keys[0]"),
    ("", "in->a"),
    ("key = in->keys[i] / 2;", "key"),
    ("if (i % 2 == 0)\n    key = in->keys[i];", "key"),
    ("key = key % 3 + 1;", "key"),
    ("if (i != 2)\n    key = i + 1;", "key"),
];

/// The writes of a table's row, with an amount.
const WRITES: [(&str, &str); 4] = [
    (
        "UPDATE branch SET total = total + %d WHERE id = %d",
        "UPDATE branch SET total = total * 2 %% 1000 + %d WHERE id = %d",
    ),
    (
        "UPDATE setting SET value = value * 3 %% 1000 + %d WHERE id = %d",
        "UPDATE setting SET value = value + %d WHERE id = %d",
    ),
    (
        "UPDATE branch SET total = total + quota %% 7 + %d WHERE id = %d",
        "UPDATE branch SET quota = total %% 50 + %d WHERE id = %d",
    ),
    (
        "UPDATE item SET price = price * 2 %% 1000 + %d WHERE id = %d",
        "UPDATE item SET price = price + %d WHERE id = %d",
    ),
];

const AMOUNTS: [&str; 4] = ["i", "in->b", "i * 5 + 3", "7"];

/// The heads of the loops. Those that step by two, or down, have another key in each iteration too.
const HEADS: [&str; 5] = [
    "for (int i = 0; i < 4; i++) {",
    "for (int i = 0; i < in->count; i++) {",
    "for (int i = 3; i >= 0; i--) {",
    "for (int i = 0; i < 4; i += 2) {",
    "for (short i = 0; i < 4; i++) {",
];

/// Returns the program of a seed.
pub(crate) fn keyed(seed: u64) -> Program {
    let mut random = Random::stream(seed, 2);
    let (first, second) = random.pick(&WRITES);
    let one = random.pick(&KEYS);
    let other = if random.chance(70) { one } else { random.pick(&KEYS) };
    let mut body = Vec::new();
    query(&mut random, one, first, &mut body);
    // Without a statement of its own, the second query has the key as the first one left it.
    let other = if other == one { ("", one.1) } else { other };
    query(&mut random, other, second, &mut body);
    let lines = body.iter().flat_map(|part| part.lines());
    let body: Vec<String> = lines.map(|line| format!("    {line}")).collect();
    let uses_key = body.iter().any(|line| line.contains("key") && !line.contains("->keys"))
        || [one, other].iter().any(|key| key.0.starts_with("key") || key.1 == "key");
    let looping = format!("{}\n{}\n}}", random.pick(&HEADS), body.join("\n"));
    let mut head = vec!["char sql[120];".to_string()];
    if uses_key {
        head.push("int key = in->a;".to_string());
    }
    head.push(String::new());
    head.push("if (sqlite3_exec(db, \"BEGIN\", NULL, NULL, NULL) != SQLITE_OK)".to_string());
    head.push("    return -1;".to_string());
    let mut tail = leave_unless("\"COMMIT\"");
    tail.push("*extra = 1;".to_string());
    tail.push("out->x = in->a;".to_string());
    if uses_key {
        tail.push("out->y = key;".to_string());
    }
    tail.push("return 0;".to_string());
    let groups = vec![
        leave_unless("\"UPDATE account SET held = held + 1 WHERE id = 1\"").join("\n"),
        looping,
        leave_unless("\"UPDATE journal SET value = value + 1 WHERE id = 1\"").join("\n"),
    ];
    Program { seed, name: format!("t{seed}"), head, groups, tail }
}

/// Adds a query with a key.
fn query(random: &mut Random, key: (&str, &str), sql: &str, body: &mut Vec<String>) {
    let amount = random.pick(&AMOUNTS);
    if !key.0.is_empty() {
        body.push(key.0.to_string());
    }
    let text = format!("snprintf(sql, sizeof sql, \"{sql}\", {amount}, {});", key.1);
    body.push(if random.chance(15) { format!("if (i != 1)\n    {text}") } else { text });
    body.extend(leave_unless("sql"));
}

/// Returns a query with the code that leaves the transaction if it fails.
pub(super) fn leave_unless(sql: &str) -> Vec<String> {
    vec![
        format!("if (sqlite3_exec(db, {sql}, NULL, NULL, NULL) != SQLITE_OK)"),
        "    return undo(db);".to_string(),
    ]
}
