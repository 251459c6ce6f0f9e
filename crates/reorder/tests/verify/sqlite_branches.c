/* Transactions whose branches depend on certain values of rows and inputs. */
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

enum state { OPEN = 3, CLOSED = 4711 };

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK;
}

/* Reads a number and a text; returns 0 if there is a row. */
static int read_account(sqlite3 *db, const char *sql, int *number, char *text)
{
    sqlite3_stmt *stmt;
    int found;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        return -1;
    found = sqlite3_step(stmt) == SQLITE_ROW;
    *number = sqlite3_column_int(stmt, 0);
    if (found)
        snprintf(text, 21, "%s", (const char *)sqlite3_column_text(stmt, 1));
    sqlite3_finalize(stmt);
    return !found;
}

/* Commits only an account with one state and one name. */
int needs_constants(sqlite3 *db, int *out)
{
    char name[21] = "";
    int state = 0;

    if (run(db, "BEGIN") != 0)
        return -1;
    if (read_account(db, "SELECT a_state, a_name FROM account WHERE a_id = 1", &state, name) != 0 ||
        state != CLOSED || strcmp(name, "SMITH & SON") != 0) {
        run(db, "ROLLBACK");
        return -2;
    }
    *out = state;
    if (run(db, "UPDATE account SET a_balance = 1 WHERE a_id = 1") != 0) {
        run(db, "ROLLBACK");
        return -3;
    }
    return run(db, "COMMIT");
}

/* Has a query that no run sends. */
int never_sends(sqlite3 *db, int amount)
{
    if (run(db, "BEGIN") != 0)
        return -1;
    if ((long long)amount * amount % 99991 == 12345)
        sqlite3_exec(db, "UPDATE bank SET b_total = 7 WHERE b_id = 1", NULL, NULL, NULL);
    return run(db, "COMMIT");
}

/* Rolls back in all runs. */
int never_commits(sqlite3 *db, int amount)
{
    if (run(db, "BEGIN") != 0)
        return -1;
    if ((long long)amount * amount % 99991 != 12345) {
        run(db, "ROLLBACK");
        return -2;
    }
    return run(db, "COMMIT");
}

/* Treats the number 0, and the number of changes, in a way of its own. */
int needs_boundaries(sqlite3 *db, int *zero, int *many)
{
    char name[21];
    int state = 1;

    if (run(db, "BEGIN") != 0)
        return -1;
    read_account(db, "SELECT a_state, a_name FROM account WHERE a_id = 1", &state, name);
    if (state == 0)
        *zero = 100;
    run(db, "UPDATE account SET a_balance = 1 WHERE a_bank = 1");
    if (sqlite3_changes(db) > 1)
        *many = 200;
    return run(db, "COMMIT");
}

/* Does not check its queries. */
int ignores_failures(sqlite3 *db)
{
    sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
    sqlite3_exec(db, "UPDATE bank SET b_total = b_total + 1 WHERE b_id = 1", NULL, NULL, NULL);
    sqlite3_exec(db, "UPDATE account SET a_balance = 1 WHERE a_id = 1", NULL, NULL, NULL);
    return sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
}
