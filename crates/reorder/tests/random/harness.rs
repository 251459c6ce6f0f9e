//! The main function that runs the programs of a file on several databases and inputs and prints
//! what they did.
//!
//! A run prints `run PROGRAM DATABASE INPUT`, what the program prints, `status`, lines `out` with
//! its outputs, and lines `row` with all rows of all tables. Programs whose originals end each
//! object once also print what SQLite reports about objects that are used wrongly, and how much is
//! left.

use clearway_testkit::Random;

use super::{
    database::{DDL, TABLES, input, rows},
    generator::CLEANED,
    program::Program,
};

/// The numbers of databases and of inputs with which each program runs.
const DATABASES: u64 = 3;
const INPUTS: u64 = 4;

/// Returns the main function for the programs, with databases and inputs from a seed.
pub(crate) fn main_function(programs: &[Program], seed: u64) -> String {
    let mut random = Random::stream(seed, 1);
    let quoted = |text: &str| format!("{text:?}");
    let list = |items: Vec<String>| items.join(",\n    ");
    let databases = (0..DATABASES).map(|_| quoted(&rows(&mut random))).collect();
    let inputs = (0..INPUTS).map(|_| input(&mut random)).collect();
    let entries = programs.iter().map(|one| format!("{{ \"{0}\", {0} }}", one.name)).collect();
    let dumps = TABLES
        .iter()
        .map(|(table, order)| {
            format!("{{ \"{table}\", \"SELECT * FROM {table} ORDER BY {order}\" }}")
        })
        .collect();
    BODY.replace("@DDL@", &quoted(DDL))
        .replace("@DATABASES@", &list(databases))
        .replace("@INPUTS@", &list(inputs))
        .replace("@PROGRAMS@", &list(entries))
        .replace("@DUMPS@", &list(dumps))
        .replace("@CLEANED@", CLEANED)
}

const BODY: &str = r#"
#include <unistd.h>

static const char *const databases[] = {
    @DATABASES@
};

static const struct input inputs[] = {
    @INPUTS@
};

static const struct {
    const char *name;
    int (*run)(sqlite3 *db, const struct input *in, struct output *out, int *extra);
} programs[] = {
    @PROGRAMS@
};

static const struct {
    const char *table;
    const char *query;
} dumps[] = {
    @DUMPS@
};

static int called;

int outside_call(sqlite3 *db, int value)
{
    char sql[100];

    sprintf(sql, "UPDATE branch SET total = total + %d, quota = quota * 2 %% 1000 WHERE id < 3",
            value & 15);
    sqlite3_exec(db, sql, NULL, NULL, NULL);
    called = (called * 3 + value) % 1000;
    return called;
}

static int next_value;

/* Its value depends on the calls before it, and on a table that its query need not name. */
static void next_number(sqlite3_context *context, int count, sqlite3_value **values)
{
    sqlite3_stmt *rows;

    (void)count;
    (void)values;
    next_value = (next_value * 2 + 1) % 1000;
    if (sqlite3_prepare_v2(sqlite3_context_db_handle(context), "SELECT sum(total) FROM branch", -1,
                           &rows, NULL) == SQLITE_OK &&
        sqlite3_step(rows) == SQLITE_ROW)
        next_value = (next_value + sqlite3_column_int(rows, 0)) % 1000;
    sqlite3_finalize(rows);
    sqlite3_result_int(context, next_value);
}

static void must(int is_right, sqlite3 *db)
{
    if (!is_right) {
        printf("harness: %s\n", sqlite3_errmsg(db));
        exit(3);
    }
}

static void dump(sqlite3 *db)
{
    for (size_t at = 0; at < sizeof dumps / sizeof dumps[0]; at++) {
        sqlite3_stmt *rows;
        must(sqlite3_prepare_v2(db, dumps[at].query, -1, &rows, NULL) == SQLITE_OK, db);
        while (sqlite3_step(rows) == SQLITE_ROW) {
            printf("row %s", dumps[at].table);
            for (int column = 0; column < sqlite3_column_count(rows); column++)
                printf(" %s", (const char *)sqlite3_column_text(rows, column));
            printf("\n");
        }
        sqlite3_finalize(rows);
    }
}

static int ends_each_once(size_t program)
{
    return strncmp(programs[program].name, "@CLEANED@", strlen("@CLEANED@")) == 0;
}

static void report(void *is_wanted, int code, const char *message)
{
    if (*(int *)is_wanted && (code & 255) == SQLITE_MISUSE)
        printf("misuse: %s\n", message);
}

static int reports;

static void run(size_t program, size_t database, size_t input)
{
    sqlite3 *db;
    sqlite3_int64 used = sqlite3_memory_used();
    struct output out = { 0, 0, 0, { 0, 0, 0, 0 }, "" };
    int extra = 0, status;

    must(sqlite3_open(":memory:", &db) == SQLITE_OK, db);
    must(sqlite3_exec(db, "PRAGMA foreign_keys = ON", NULL, NULL, NULL) == SQLITE_OK, db);
    must(sqlite3_exec(db, @DDL@, NULL, NULL, NULL) == SQLITE_OK, db);
    must(sqlite3_exec(db, databases[database], NULL, NULL, NULL) == SQLITE_OK, db);
    must(sqlite3_create_function(db, "next_number", 0, SQLITE_UTF8, NULL, next_number, NULL,
                                 NULL) == SQLITE_OK, db);
    called = next_value = 0;
    seen = 0;
    memset(counters, 0, sizeof counters);
    printf("run %s %d %d\n", programs[program].name, (int)database, (int)input);
    fflush(stdout);
    reports = ends_each_once(program);
    status = programs[program].run(db, &inputs[input], &out, &extra);
    printf("status %s%s\n", status == 0 ? "committed" : "rolled back",
           sqlite3_get_autocommit(db) ? "" : ", still open");
    printf("out %d %d %d extra %d seen %d called %d\n", out.x, out.y, out.z, extra, seen, called);
    printf("out list %d %d %d %d counters %d %d %d %d\n", out.list[0], out.list[1], out.list[2],
           out.list[3], counters[0], counters[1], counters[2], counters[3]);
    printf("out text \"%s\"\n", out.text);
    dump(db);
    sqlite3_close_v2(db);
    if (reports)
        printf("left %d\n", (int)(sqlite3_memory_used() - used));
}

int main(void)
{
    alarm(60);
    sqlite3_config(SQLITE_CONFIG_LOG, report, &reports);
    for (size_t program = 0; program < sizeof programs / sizeof programs[0]; program++)
        for (size_t database = 0; database < sizeof databases / sizeof databases[0]; database++)
            for (size_t input = 0; input < sizeof inputs / sizeof inputs[0]; input++)
                run(program, database, input);
    return 0;
}
"#;
