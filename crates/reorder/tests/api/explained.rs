//! Advice and lock orders of C sources with a database interface of their own. The tests need
//! libclang. Without it they
//! say SKIPPED; if `CLEARWAY_REQUIRE_LIBCLANG` is set, they fail.

use std::path::Path;

use clearway_reorder::{
    advice::Advice,
    api::{self, Models},
    clang::FrontEnd,
    explain,
    lock_order::{Imposed, LockOrder, of},
    rewrite::{Options, Rewritten, rewrite},
    schema,
};

const MODEL: &str = r#"
name = "shop"
server = "postgresql"
failure_aborts = true
[calls]
run = { role = "query", sql = 0, parameters = { array = 1, count = 2 },
    reads = [0, { argument = 1, count = 2, deep = true }], returns = "new" }
failed = { reads = [0], status = true, success = [0] }
value = { reads = [0], returns = { borrowed = 0 } }
"#;

const DDL: &str = "CREATE TABLE t (id integer PRIMARY KEY, n integer, m integer);";

const HEAD: &str = r#"
#include <stdio.h>
#include <stdlib.h>
struct result;
struct result *run(const char *sql, const char *const *parameters, int count);
int failed(const struct result *result);
char *value(const struct result *result, int column);

int transaction(int key, int more)
{
    const char *parameters[4];
    char id[12], other[12], sum[12];
    struct result *read, *written;
    int n, total;
    snprintf(id, sizeof id, "%d", key);
    snprintf(other, sizeof other, "%d", key);
    written = run("BEGIN", NULL, 0);
    parameters[0] = id;
"#;

const TAIL: &str = r#"
    if (failed(written)) {
        run("ROLLBACK", NULL, 0);
        return -1;
    }
    run("COMMIT", NULL, 0);
    return 0;
}
"#;

/// Returns a reordered source; `None` with a message if libclang is missing.
fn reordered(text: &str, ddl: &str, options: &Options) -> Option<Rewritten> {
    let front_end = match FrontEnd::load() {
        Ok(front_end) => front_end,
        Err(error) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBCLANG").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let models = Models::new(&[], &[api::load(MODEL, "shop.toml").unwrap()]).unwrap();
    let program = front_end.parse(Path::new("shop.c"), Some(text), &[]).unwrap();
    let schema = schema::parse(ddl, models.server().unwrap()).unwrap();
    Some(rewrite(&program, text, &models, &schema, options).unwrap())
}

/// Returns the advice on a transaction whose middle is `body`.
fn advice(body: &str) -> Option<Vec<Advice>> {
    let options = Options { function: Some("transaction".to_owned()), ..Options::default() };
    let rewritten = reordered(&format!("{HEAD}{body}{TAIL}"), DDL, &options)?;
    Some(rewritten.transactions[0].advice.clone())
}

/// Returns the line of a line of a body, which begins with line 0.
fn line(of_body: usize) -> usize {
    HEAD.matches('\n').count() + 1 + of_body
}

const READ: &str = r#"    read = run("SELECT m, n FROM t WHERE id = $1", parameters, 1);
    if (failed(read)) { run("ROLLBACK", NULL, 0); return -1; }
"#;

const UPDATE: &str = r#"    snprintf(sum, sizeof sum, "%d", total);
    parameters[0] = sum;
    parameters[1] = id;
    written = run("UPDATE t SET n = $1 WHERE id = $2", parameters, 2);
"#;

fn locking_read(update: usize, is_same_row: bool) -> Advice {
    Advice::LockingRead { line: line(0), table: "t".to_owned(), update, is_same_row }
}

fn increment(update: usize) -> Advice {
    Advice::Increment { line: update, column: "n".to_owned(), read: line(0) }
}

#[test]
fn sum_of_a_column_that_was_read_is_an_increment() {
    for sum in [
        "    total = atoi(value(read, 1)) + more;\n",
        "    total = more + atoi(value(read, 1));\n",
        "    total = atoi(value(read, 1)) - more;\n",
        "    total = atoi(value(read, 1)); total += more;\n",
        "    n = atoi(value(read, 1)); total = n - (more + 2);\n",
    ] {
        let Some(found) = advice(&format!("{READ}{sum}{UPDATE}")) else { return };
        assert_eq!(found, [locking_read(line(6), true), increment(line(6))], "{sum}");
    }
}

#[test]
fn other_values_are_no_increments() {
    for value in [
        "    total = more - atoi(value(read, 1));\n",
        "    total = atoi(value(read, 1)) * more;\n",
        "    total = atoi(value(read, 1));\n",
        "    total = atoi(value(read, 0)) + more;\n",
        "    total = more;\n",
        "    total = more; if (more > 3) total = atoi(value(read, 1)) + more;\n",
    ] {
        let Some(found) = advice(&format!("{READ}{value}{UPDATE}")) else { return };
        assert_eq!(found, [locking_read(line(6), true)], "{value}");
    }
}

#[test]
fn reads_that_lock_or_are_of_other_rows_get_no_advice() {
    let total = "    total = more;\n";
    let cases = [
        READ.replace("$1\"", "$1 FOR UPDATE\""),
        READ.replace("m, n", "m"),
        READ.replace("id = $1", "m = $1"),
        READ.replace("id = $1", "id = 5"),
        format!("    parameters[0] = other;\n{READ}"),
        String::new(),
    ];
    for read in cases {
        let Some(found) = advice(&format!("{read}{total}{UPDATE}")) else { return };
        assert_eq!(found, [], "{read}");
    }
    let increments = UPDATE.replace("n = $1", "n = n + $1");
    assert_eq!(advice(&format!("{READ}{total}{increments}")).unwrap(), []);
}

#[test]
fn row_that_is_not_known_gets_a_guarded_advice() {
    let text = r#"    char sql[99];
    snprintf(sql, sizeof sql, "UPDATE t SET n = %d WHERE id = %d", more, key);
    written = run(sql, NULL, 0);
"#;
    let Some(found) = advice(&format!("{READ}{text}")) else { return };
    assert_eq!(found, [locking_read(line(4), false)]);
    assert!(found[0].to_string().contains("updates perhaps the row"), "{}", found[0]);
}

/// Two transactions: the first must lock `hot` before `cold`; the second may lock it later.
const CROSSED: &str = r#"
#include <stdio.h>
struct result;
struct result *run(const char *sql, const char *const *parameters, int count);
int failed(const struct result *result);
char *value(const struct result *result, int column);

int one(void)
{
    const char *parameters[1];
    char sum[12];
    struct result *hot, *cold;
    run("BEGIN", NULL, 0);
    hot = run("UPDATE hot SET n = n + 1 WHERE id = 1 RETURNING n", NULL, 0);
    if (failed(hot)) { run("ROLLBACK", NULL, 0); return -1; }
    snprintf(sum, sizeof sum, "%s", value(hot, 0));
    parameters[0] = sum;
    cold = run("UPDATE cold SET n = $1 WHERE id = 2", parameters, 1);
    if (failed(cold)) { run("ROLLBACK", NULL, 0); return -1; }
    run("COMMIT", NULL, 0);
    return 0;
}

int two(void)
{
    struct result *hot, *cold;
    run("BEGIN", NULL, 0);
    hot = run("UPDATE hot SET n = n + 2 WHERE id = 1", NULL, 0);
    if (failed(hot)) { run("ROLLBACK", NULL, 0); return -1; }
    cold = run("UPDATE cold SET n = n + 2 WHERE id = 1", NULL, 0);
    if (failed(cold)) { run("ROLLBACK", NULL, 0); return -1; }
    run("COMMIT", NULL, 0);
    return 0;
}
"#;

const CROSSED_DDL: &str = "
CREATE TABLE hot (id integer PRIMARY KEY, n integer);
CREATE TABLE cold (id integer PRIMARY KEY, n integer, hot integer REFERENCES hot (id));
";

#[test]
fn transactions_that_lock_crosswise_are_named() {
    let Some(rewritten) = reordered(CROSSED, CROSSED_DDL, &Options::default()) else { return };
    assert!(matches!(of(&rewritten.transactions), LockOrder::Cycle(_)));
    let text = explain::explain_all("shop.c", &rewritten);
    assert!(text.contains("one locks hot (shop.c:14), then cold (shop.c:18)"), "{text}");
    assert!(text.contains("two locks cold (shop.c:30), then hot (shop.c:28)"), "{text}");
}

#[test]
fn demanded_lock_order_changes_the_text_and_has_its_cost() {
    let options = Options { lock_order: true, ..Options::default() };
    let Some(rewritten) = reordered(CROSSED, CROSSED_DDL, &options) else { return };
    let imposed = Imposed::Order { cost_before: 90, cost: 100, is_best: true };
    assert_eq!(rewritten.lock_order, Some(imposed));
    let tables = ["hot", "cold"].map(str::to_owned).to_vec();
    assert_eq!(of(&rewritten.transactions), LockOrder::Order(tables));
    assert_eq!(rewritten.text, CROSSED, "the second transaction keeps its order");
}
