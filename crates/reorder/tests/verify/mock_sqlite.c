/* Uses the mock of SQLite as a client does, and checks what it answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static int count_row(void *to, int columns, char **values, char **names)
{
    CHECK(columns == 1 && strcmp(names[0], "i_price") == 0 && strchr(values[0], '.') != NULL);
    ++*(int *)to;
    return 0;
}

static int refuse_row(void *to, int columns, char **values, char **names)
{
    (void)to, (void)columns, (void)values, (void)names;
    return 1;
}

static void exec_calls_back_for_each_row(sqlite3 *db)
{
    int rows = 0;
    char *message = NULL;
    const char *sql = "UPDATE item SET i_name = ''; SELECT i_price FROM item WHERE i_id = 1";
    CHECK(sqlite3_exec(db, sql, count_row, &rows, &message) == SQLITE_OK && rows == 1);
    CHECK(message == NULL && sqlite3_changes(db) == 1);
    CHECK(sqlite3_exec(db, sql, refuse_row, NULL, &message) == SQLITE_ABORT);
    CHECK(strcmp(message, "query aborted") == 0);
    sqlite3_free(message);
    CHECK(sqlite3_exec(db, "INSERT INTO item DEFAULT VALUES", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_last_insert_rowid(db) > 0);
}

static void statements_are_stepped(sqlite3 *db)
{
    sqlite3_stmt *stmt;
    const char *rest;
    char fixed[] = "first";
    const char *sql = "SELECT i_name, i_price FROM item WHERE i_id = ?2 AND i_name = :name; SELECT 1";
    CHECK(sqlite3_prepare_v2(db, sql, -1, &stmt, &rest) == SQLITE_OK);
    CHECK(strstr(rest, "SELECT 1") != NULL && sqlite3_bind_parameter_count(stmt) == 3);
    CHECK(sqlite3_bind_parameter_index(stmt, ":name") == 3 && sqlite3_column_count(stmt) == 2);
    CHECK(sqlite3_bind_int(stmt, 2, 5) == SQLITE_OK);
    CHECK(sqlite3_bind_int(stmt, 4, 5) == SQLITE_RANGE);
    CHECK(sqlite3_bind_text(stmt, 3, fixed, -1, SQLITE_STATIC) == SQLITE_OK);
    memcpy(fixed, "later", 5); /* The text is read when the statement runs. */
    CHECK(sqlite3_step(stmt) == SQLITE_ROW && sqlite3_data_count(stmt) == 2);
    CHECK(strchr((const char *)sqlite3_column_text(stmt, 1), '.') != NULL);
    CHECK(sqlite3_column_type(stmt, 1) == SQLITE_FLOAT);
    CHECK(sqlite3_column_bytes(stmt, 0) == (int)strlen((const char *)sqlite3_column_text(stmt, 0)));
    CHECK(sqlite3_bind_int(stmt, 2, 6) == SQLITE_MISUSE);
    CHECK(sqlite3_step(stmt) == SQLITE_DONE && sqlite3_data_count(stmt) == 0);
    CHECK(sqlite3_reset(stmt) == SQLITE_OK && sqlite3_bind_int(stmt, 2, 6) == SQLITE_OK);
    CHECK(sqlite3_close(db) == SQLITE_BUSY && sqlite3_finalize(stmt) == SQLITE_OK);
}

static void failure_is_reported_twice(sqlite3 *db)
{
    sqlite3_stmt *stmt;
    CHECK(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK && !sqlite3_get_autocommit(db));
    CHECK(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_ERROR);
    CHECK(sqlite3_prepare_v2(db, "UPDATE item SET i_price = 7", -1, &stmt, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(stmt) == SQLITE_FULL && sqlite3_get_autocommit(db));
    CHECK(strstr(sqlite3_errmsg(db), "full") != NULL && sqlite3_errcode(db) == SQLITE_FULL);
    CHECK(sqlite3_finalize(stmt) == SQLITE_FULL);
    CHECK(sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_ERROR);
}

static void formats_quote(void)
{
    char buffer[6];
    char *text = sqlite3_mprintf("%Q %q %d %5.2f %s%%%lld %w", "it's", "o'x", -3, 1.5, "s", 7LL,
                                 "a\"b");
    CHECK(strcmp(text, "'it''s' o''x -3  1.50 s%7 a\"\"b") == 0);
    sqlite3_free(text);
    CHECK(strcmp(sqlite3_snprintf(sizeof buffer, buffer, "%s", "too long"), "too l") == 0);
}

int main(int count, char **arguments)
{
    const char *part = count > 1 ? arguments[1] : "";
    sqlite3 *db;
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    if (strcmp(part, "exec") == 0)
        exec_calls_back_for_each_row(db);
    else if (strcmp(part, "steps") == 0)
        statements_are_stepped(db);
    else if (strcmp(part, "failure") == 0)
        failure_is_reported_twice(db);
    else
        formats_quote();
    sqlite3_close(db);
    return 0;
}
