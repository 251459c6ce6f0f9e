/*
 * A mock of SQLite's C interface: connections and sqlite3_exec. What is not here, the linker names.
 *
 * mock_sqlite_statement.c has prepared statements, mock_sqlite_column.c the values of their rows,
 * mock_sqlite_text.c memory, formats and what the library says of itself.
 */
#include "mock_sqlite.h"
#include "mock_input.h"

#include <stdlib.h>
#include <string.h>

enum { CONNECTION_LIVE = 0x5017E, CONNECTION_CLOSED = 0xDD };

static const struct mockdb_failure failures[] = {
    {"LOST", SQLITE_IOERR, MOCKDB_LOSES, "disk I/O error"},
    {"SQLITE_BUSY", SQLITE_BUSY, MOCKDB_FAILS_QUERY, "database is locked"},
    {"SQLITE_CONSTRAINT", SQLITE_CONSTRAINT, MOCKDB_FAILS_QUERY, "constraint failed"},
    {"SQLITE_IOERR", SQLITE_IOERR, MOCKDB_ROLLS_BACK, "disk I/O error"},
    {"SQLITE_FULL", SQLITE_FULL, MOCKDB_ROLLS_BACK, "database or disk is full"},
    {NULL, SQLITE_ERROR, MOCKDB_FAILS_QUERY, "SQL logic error (%.20s)"},
};

const struct mockdb_api mockdb_api = {MOCKDB_SQLITE, failures};

bool mock_live(const sqlite3 *db, const char *call)
{
    char text[128];
    if (db != NULL && db->magic == CONNECTION_LIVE)
        return true;
    snprintf(text, sizeof text, "%s on a connection that is closed", call);
    mockdb_misuse(text, 0);
    return false;
}

int mock_set_error(sqlite3 *db, int code, const char *message)
{
    db->code = code;
    snprintf(db->message, sizeof db->message, "%s", message);
    return code;
}

int mock_note_answer(sqlite3 *db, const struct mockdb_result *answer)
{
    if (answer->sqlstate != NULL)
        return mock_set_error(db, answer->number, answer->message);
    if (answer->statement == MOCKDB_CHANGE) {
        db->changes = (int)answer->changed;
        db->total += db->changes;
        if (answer->inserted != 0)
            db->rowid = answer->inserted;
    }
    return mock_set_error(db, SQLITE_OK, "not an error");
}

int sqlite3_open(const char *filename, sqlite3 **ppDb)
{
    static int count;
    (void)filename;
    *ppDb = calloc(1, sizeof **ppDb);
    if (*ppDb == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    (*ppDb)->magic = CONNECTION_LIVE;
    (*ppDb)->session.number = ++count;
    return mock_set_error(*ppDb, SQLITE_OK, "not an error");
}

int sqlite3_open_v2(const char *filename, sqlite3 **ppDb, int flags, const char *zVfs)
{
    (void)flags, (void)zVfs;
    return sqlite3_open(filename, ppDb);
}

int sqlite3_close_v2(sqlite3 *db)
{
    if (db == NULL)
        return SQLITE_OK;
    if (!mock_live(db, "sqlite3_close"))
        return SQLITE_MISUSE;
    db->magic = CONNECTION_CLOSED;
    return SQLITE_OK;
}

int sqlite3_close(sqlite3 *db)
{
    if (db != NULL && mock_live(db, "sqlite3_close") && db->statements > 0)
        return mock_set_error(db, SQLITE_BUSY, "unable to close due to unfinalized statements");
    return sqlite3_close_v2(db);
}

void *mockdb_connect(void)
{
    sqlite3 *db = NULL;
    sqlite3_open(":memory:", &db);
    return db;
}

void mockdb_begin(void *connection)
{
    sqlite3_exec(connection, "BEGIN", NULL, NULL, NULL);
}

int sqlite3_busy_timeout(sqlite3 *db, int ms)
{
    (void)ms;
    return mock_live(db, "sqlite3_busy_timeout") ? SQLITE_OK : SQLITE_MISUSE;
}

/* Calls the callback for each row; returns true if it ends the query. */
static bool deliver(const struct mockdb_result *answer,
                    int (*callback)(void *, int, char **, char **), void *argument)
{
    size_t fields = (size_t)answer->fields;
    char **values = calloc(2 * fields + 1, sizeof *values), **names = values + fields;
    bool ended = false;
    if (values == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    for (int row = 0; row < answer->rows && !ended; row++) {
        for (size_t i = 0; i < fields; i++) {
            const struct mockdb_value *value = &answer->values[(size_t)row * fields + i];
            values[i] = value->null ? NULL : value->text;
            names[i] = answer->columns[i].name;
        }
        ended = callback(argument, (int)fields, values, names) != 0;
    }
    free(values);
    return ended;
}

static void give_message(sqlite3 *db, char **errmsg)
{
    if (errmsg != NULL)
        *errmsg = db->code != SQLITE_OK ? sqlite3_mprintf("%s", db->message) : NULL;
}

int sqlite3_exec(sqlite3 *db, const char *sql, int (*callback)(void *, int, char **, char **),
                 void *argument, char **errmsg)
{
    struct mockdb_text statement;
    if (!mock_live(db, "sqlite3_exec"))
        return SQLITE_MISUSE;
    mock_set_error(db, SQLITE_OK, "not an error");
    while (db->code == SQLITE_OK && mockdb_next_statement(&sql, &statement)) {
        struct mockdb_result *answer =
            mockdb_run(&db->session, "sqlite3_exec", statement, 0, NULL);
        mock_note_answer(db, answer);
        bool rows = answer->sqlstate == NULL && answer->fields > 0 && callback != NULL;
        if (rows && deliver(answer, callback, argument))
            mock_set_error(db, SQLITE_ABORT, "query aborted");
        mockdb_end(answer);
    }
    give_message(db, errmsg);
    return db->code;
}

/* Makes the table of sqlite3_get_table: the names, then the values. */
static char **table_of(const struct mockdb_result *answer)
{
    size_t fields = (size_t)answer->fields, count = (size_t)(answer->rows + 1) * fields;
    size_t size = (count + 1) * sizeof(char *);
    for (size_t i = 0; i < count; i++)
        size += i < fields ? strlen(answer->columns[i].name) + 1
                           : (size_t)answer->values[i - fields].length + 1;
    char **table = mockdb_lend(size);
    char *at = (char *)(table + count + 1);
    for (size_t i = 0; i < count; i++) {
        bool name = i < fields;
        const char *text = name ? answer->columns[i].name : answer->values[i - fields].text;
        table[i] = !name && answer->values[i - fields].null ? NULL : at;
        memcpy(at, text, strlen(text) + 1);
        at += strlen(text) + 1;
    }
    return table;
}

int sqlite3_get_table(sqlite3 *db, const char *sql, char ***result, int *rows, int *columns,
                      char **errmsg)
{
    struct mockdb_text statement, none = {"", 0};
    if (!mock_live(db, "sqlite3_get_table"))
        return SQLITE_MISUSE;
    bool some = mockdb_next_statement(&sql, &statement);
    struct mockdb_result *answer =
        mockdb_run(&db->session, "sqlite3_get_table", some ? statement : none, 0, NULL);
    bool failed = mock_note_answer(db, answer) != SQLITE_OK;
    *result = failed ? NULL : table_of(answer);
    if (rows != NULL)
        *rows = answer->rows;
    if (columns != NULL)
        *columns = answer->rows > 0 ? answer->fields : 0;
    mockdb_end(answer);
    give_message(db, errmsg);
    return db->code;
}

void sqlite3_free_table(char **result)
{
    mockdb_give_back(result);
}

/* What queries left on the connection. */

const char *sqlite3_errmsg(sqlite3 *db)
{
    return mock_live(db, "sqlite3_errmsg") ? db->message : "out of memory";
}

int sqlite3_errcode(sqlite3 *db)
{
    return mock_live(db, "sqlite3_errcode") ? db->code : SQLITE_MISUSE;
}

int sqlite3_extended_errcode(sqlite3 *db)
{
    return mock_live(db, "sqlite3_extended_errcode") ? db->code : SQLITE_MISUSE;
}

int sqlite3_changes(sqlite3 *db)
{
    return mock_live(db, "sqlite3_changes") ? db->changes : 0;
}

int sqlite3_total_changes(sqlite3 *db)
{
    return mock_live(db, "sqlite3_total_changes") ? db->total : 0;
}

#if SQLITE_VERSION_NUMBER >= 3037000
sqlite3_int64 sqlite3_changes64(sqlite3 *db)
{
    return sqlite3_changes(db);
}

sqlite3_int64 sqlite3_total_changes64(sqlite3 *db)
{
    return sqlite3_total_changes(db);
}
#endif

sqlite3_int64 sqlite3_last_insert_rowid(sqlite3 *db)
{
    return mock_live(db, "sqlite3_last_insert_rowid") ? db->rowid : 0;
}

int sqlite3_get_autocommit(sqlite3 *db)
{
    return mock_live(db, "sqlite3_get_autocommit") && db->session.state != MOCKDB_ACTIVE;
}
