//! Programs with a loop that writes rows by keys which an earlier loop has put into an array, or
//! which the loop itself finds out.
//!
//! Keys come back, and the writes of a row do not commute. Most programs have one thing that
//! forbids another order of the iterations, or may forbid it.

use clearway_testkit::Random;

use super::keys::leave_unless;
use crate::program::Program;

/// The statements that give the key of an iteration.
const KEYS: [&str; 7] = [
    "key[i] = in->list[i];",
    "key[i] = in->list[3 - i];",
    "key[i] = 5 - in->keys[i];",
    "key[i] = in->keys[i] % 3;",
    "if (fetch(db, \"SELECT branch_id FROM account WHERE id = ?\", in->list[i], &key[i]) != 0)\n\
     return undo(db);",
    "if (i != 1)\n    key[i] = in->keys[i];",
    "if (in->list[i] == 3)\n    break;\nkey[i] = in->keys[i];",
];

/// The writes of rows by an amount and the key; some fail in some databases.
const WRITES: [&str; 9] = [
    "UPDATE branch SET total = total * 2 %% 1000 + %d WHERE id = %d",
    "UPDATE branch SET quota = quota * 3 %% 1000 + %d WHERE id = %d",
    "UPDATE setting SET value = value * 3 %% 1000 + %d WHERE id = %d",
    "UPDATE item SET price = price * 2 %% 1000 + %d WHERE id = %d",
    "UPDATE branch SET total = CASE WHEN total > 80 THEN NULL ELSE total * 2 + %d END WHERE id = \
     %d",
    "UPDATE account SET balance = balance * 2 %% 1000 + %d WHERE id = %d",
    "UPDATE account SET code = 101 + %d WHERE id = %d",
    "UPDATE item SET stock = stock * 2 %% 1000 + %d WHERE id = %d",
    "DELETE FROM setting WHERE value > %d AND id = %d",
];

const AMOUNTS: [&str; 5] = ["i", "in->b", "in->list[i]", "in->keys[i] * 5", "7"];

/// Statements of the later loop; the first ones forbid nothing.
const OTHERS: [&str; 19] = [
    "",
    "local = in->list[i] * 2;",
    "snprintf(note, sizeof note, \"%d\", i);",
    "sum = sum * 3 % 1000 + in->list[i];",
    "sum = i;",
    "if (in->list[i] > 3)\n    sum = 1;\nelse\n    sum = 2;",
    "printf(\"line %d\\n\", i);",
    "out->y = i;",
    "*extra = i;",
    "to[0] = key[i];",
    "snprintf(note + strlen(note), sizeof note - strlen(note), \"%d\", i);",
    "seen = i;",
    "if (in->list[i] == 2)\n    break;",
    "if (in->list[i] == 2)\n    continue;",
    "if (in->list[i] == 2)\n    return undo(db);",
    "if (sqlite3_exec(db, \"UPDATE journal SET value = value * 2 + 1\", NULL, NULL, NULL) != \
     SQLITE_OK)\n    return 3;",
    "if (sqlite3_exec(db, \"INSERT INTO journal VALUES (1, 2)\", NULL, NULL, NULL) != SQLITE_OK)\n\
     return undo(db);",
    "sum += sqlite3_changes(db);",
    "if (sqlite3_exec(db, \"UPDATE setting SET value = value * 2 + 1 WHERE id = 1\", NULL, NULL, \
     NULL) != SQLITE_OK)\n    return undo(db);",
];

/// The ways in which a failed write ends; the first one leaves one status.
const EXITS: [&str; 4] = [
    "    return undo(db);",
    "{\n    undo(db);\n    return 2;\n}",
    "{\n    undo(db);\n    return i + 2;\n}",
    "    sum++;",
];

/// The heads of the loops.
const HEADS: [&str; 4] = [
    "for (int i = 0; i < in->count; i++) {",
    "for (int i = 0; i < 4; i++) {",
    "for (int i = 3; i >= 0; i--) {",
    "for (i = 0; i < in->count; i++) {",
];

/// Returns the program of a seed.
pub(crate) fn sorted(seed: u64) -> Program {
    let mut random = Random::stream(seed, 3);
    let head_of_loop = random.pick(&HEADS);
    let is_one_loop = random.chance(15);
    let known = if random.chance(75) { &KEYS[..4] } else { &KEYS };
    let first = vec![random.pick(known).to_string()];
    let mut second = Vec::new();
    let before = random.chance(50);
    let other = if random.chance(70) { "" } else { random.pick(&OTHERS) }.to_string();
    if before {
        second.push(other.clone());
    }
    for _ in 0..random.between(1, 2) {
        let known = if random.chance(85) { &WRITES[..5] } else { &WRITES };
        let (sql, amount) = (random.pick(known), random.pick(&AMOUNTS));
        let key = if random.chance(10) { "in->keys[i]" } else { "key[i]" };
        second.push(format!("snprintf(sql, sizeof sql, \"{sql}\", {amount}, {key});"));
        let exit = if random.chance(90) { EXITS[0] } else { random.pick(&EXITS) };
        let test = "if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)";
        let open = if exit.starts_with('{') { " " } else { "\n" };
        second.push(format!("{test}{open}{exit}"));
    }
    if !before {
        second.push(other);
    }
    let groups = match is_one_loop {
        true => vec![looping(head_of_loop, &[first, second].concat())],
        false => {
            let other = if random.chance(8) { random.pick(&HEADS) } else { head_of_loop };
            let between = if random.chance(90) { "" } else { "key[0] = 2;" };
            vec![looping(other, &first), between.to_string(), looping(head_of_loop, &second)]
        }
    };
    let groups = [
        vec![leave_unless("\"UPDATE account SET held = held + 1 WHERE id = 1\"").join("\n")],
        groups.into_iter().filter(|one| !one.is_empty()).collect(),
        vec![leave_unless("\"UPDATE journal SET value = value + 1 WHERE id = 1\"").join("\n")],
    ];
    let head = "char sql[160], note[64] = \"\";\nint i = 0, key[4] = {1, 2, 3, 1}, to[1] = {0};\n\
                int sum = 0, local = 0;\n\n\
                (void)i; (void)to; (void)local; (void)note; (void)key; (void)sum;\n\
                if (sqlite3_exec(db, \"BEGIN\", NULL, NULL, NULL) != SQLITE_OK)\n    return -1;";
    let mut tail = leave_unless("\"COMMIT\"");
    tail.push("*extra += 1;".to_string());
    for (chance, line) in [
        (70, "out->x = sum;"),
        (20, "out->z = i;"),
        (20, "out->z += sqlite3_changes(db);"),
        (20, "out->y += local;"),
        (20, "out->y += to[0];"),
        (20, "snprintf(out->text, sizeof out->text, \"%.20s\", note);"),
    ] {
        if random.chance(chance) {
            tail.push(line.to_string());
        }
    }
    tail.push("return 0;".to_string());
    let head = head.lines().map(str::to_string).collect();
    Program { seed, name: format!("t{seed}"), head, groups: groups.concat(), tail }
}

fn looping(head: &str, body: &[String]) -> String {
    let lines = body.iter().flat_map(|part| part.lines());
    let body: Vec<String> = lines.map(|line| format!("    {line}")).collect();
    format!("{head}\n{}\n}}", body.join("\n"))
}
