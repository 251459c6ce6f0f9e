//! A random program: a function with a transaction, as a list of statements from which some may be
//! left out.

use std::collections::BTreeSet;

/// A function with a transaction.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The seed that it was made from.
    pub(crate) seed: u64,
    /// The name of the function.
    pub(crate) name: String,
    /// The declarations, and what stands before the transaction.
    pub(crate) head: Vec<String>,
    /// The statements of the transaction, in groups that belong together.
    pub(crate) groups: Vec<String>,
    /// The commit, and what stands behind it.
    pub(crate) tail: Vec<String>,
}

impl Program {
    /// Returns the function's text.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "int {}(sqlite3 *db, const struct input *in, struct output *out, int *extra)\n{{\n",
            self.name
        );
        for (at, part) in [&self.head, &self.groups, &self.tail].into_iter().enumerate() {
            if at == 1 {
                text.push('\n');
            }
            for line in part.iter().flat_map(|group| group.lines()) {
                let label = line.ends_with(':');
                text += &format!("{}{line}\n", if label { "" } else { "    " });
            }
        }
        text + "}\n"
    }
}

/// Returns the words of a text.
pub(crate) fn words(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).map(str::to_string).collect()
}

/// Returns a source file with the programs.
pub(crate) fn file(programs: &[Program]) -> String {
    let functions: String = programs
        .iter()
        .map(|program| format!("\n/* Seed {}. */\n{}", program.seed, program.text()))
        .collect();
    let used = words(&functions);
    let helpers = HELPERS.iter().filter(|(name, _)| used.contains(*name));
    let helpers: String = helpers.map(|(_, source)| format!("\n{source}")).collect();
    format!("{TYPES}{helpers}{functions}")
}

const TYPES: &str = r#"#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

struct input {
    int a, b, c, d, n, count;
    int list[4];
    char text[16];
    int keys[4];
};

struct output {
    int x, y, z;
    int list[4];
    char text[32];
};

struct pair {
    int first, second;
};

int seen;
int counters[4];

int outside_call(sqlite3 *db, int value);
"#;

/// The functions that programs call, by their names.
const HELPERS: &[(&str, &str)] = &[
    (
        "run_query",
        r#"static int run_query(sqlite3 *db, const char *sql, int a, int b, int c)
{
    sqlite3_stmt *query = NULL;
    int rc;

    if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
        return -1;
    sqlite3_bind_int(query, 1, a);
    sqlite3_bind_int(query, 2, b);
    sqlite3_bind_int(query, 3, c);
    rc = sqlite3_step(query);
    sqlite3_finalize(query);
    return rc == SQLITE_DONE ? 0 : -1;
}
"#,
    ),
    (
        "fetch",
        r#"static int fetch(sqlite3 *db, const char *sql, int key, int *result)
{
    sqlite3_stmt *query = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &query, NULL) != SQLITE_OK)
        return -1;
    sqlite3_bind_int(query, 1, key);
    if (sqlite3_step(query) == SQLITE_ROW)
        *result = sqlite3_column_int(query, 0);
    else
        *result = 0;
    sqlite3_finalize(query);
    return 0;
}
"#,
    ),
    (
        "add_total",
        r#"static int add_total(sqlite3 *db, int id, int amount)
{
    char text[120];

    snprintf(text, sizeof text, "UPDATE branch SET total = total + %d WHERE id = %d", amount, id);
    return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}
"#,
    ),
    (
        "balance_of",
        r#"static int balance_of(sqlite3 *db, int id)
{
    sqlite3_stmt *query = NULL;
    int balance = -1;

    sqlite3_prepare_v2(db, "SELECT balance FROM account WHERE id = ?", -1, &query, NULL);
    sqlite3_bind_int(query, 1, id);
    if (sqlite3_step(query) == SQLITE_ROW)
        balance = sqlite3_column_int(query, 0);
    sqlite3_finalize(query);
    return balance;
}
"#,
    ),
    (
        "same_statement",
        r#"static sqlite3_stmt *same_statement(sqlite3_stmt *statement)
{
    return statement;
}
"#,
    ),
    (
        "keep_statement",
        r#"static void keep_statement(sqlite3_stmt **keeper, sqlite3_stmt *statement)
{
    *keeper = statement;
}
"#,
    ),
    (
        "undo",
        r#"static int undo(sqlite3 *db)
{
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return 1;
}
"#,
    ),
    (
        "undo_if",
        r#"static void undo_if(sqlite3 *db, int value)
{
    sqlite3_exec(db, "DELETE FROM audit WHERE old_stock = 3", NULL, NULL, NULL);
    if (value % 3 == 1)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}
"#,
    ),
    (
        "commit_if",
        r#"static void commit_if(sqlite3 *db, int value)
{
    sqlite3_exec(db, value % 3 == 1 ? "COMMIT" : "SAVEPOINT early", NULL, NULL, NULL);
}
"#,
    ),
    (
        "adjust",
        r#"static void adjust(int *value)
{
    *value = *value % 100 + 7;
}
"#,
    ),
    (
        "mix",
        r#"static int mix(int a, int b)
{
    return (a * 7 + b * 3) % 1000;
}
"#,
    ),
];
