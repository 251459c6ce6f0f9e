/* A mock of SQLite's C interface: prepared statements. */
#define _POSIX_C_SOURCE 200809L

#include "mock_sqlite_statement.h"
#include "mock_token.h"

#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    return memory;
}

bool mock_statement_live(const sqlite3_stmt *statement, const char *call)
{
    char text[128];
    if (statement != NULL && statement->magic == MOCK_STATEMENT_LIVE)
        return true;
    snprintf(text, sizeof text, "%s on a statement that is %s", call,
             statement != NULL ? "finalized" : "a null pointer");
    mockdb_misuse(text, 0);
    return false;
}

int mock_parameter_named(const sqlite3_stmt *statement, const char *name)
{
    for (int i = 0; i < statement->parameter_count; i++) {
        if (strcmp(statement->names[i], name) == 0)
            return i + 1;
    }
    return statement->parameter_count + 1;
}

/* Finds the parameters: `?`, `?3`, `:name`, `@name`, `$name`. */
static void find_parameters(sqlite3_stmt *statement)
{
    struct mockdb_text sql = {statement->sql, strlen(statement->sql)};
    struct mockdb_scanner scanner = mockdb_scanner_of(sql);
    struct mockdb_token token = mockdb_next_token(&scanner);
    statement->names = zeroed((sql.length + 1) * sizeof *statement->names);
    while (token.kind != TOKEN_END) {
        struct mockdb_token sign = token;
        bool names = mockdb_is_sign(sign, ':') || mockdb_is_sign(sign, '@')
                     || mockdb_is_sign(sign, '$');
        token = mockdb_next_token(&scanner);
        bool adjacent = token.start == sign.start + 1;
        char name[64] = "";
        int number = statement->parameter_count + 1;
        if (mockdb_is_sign(sign, '?') && adjacent && token.kind == TOKEN_LITERAL)
            number = atoi(token.start);
        else if (names && adjacent && token.kind == TOKEN_WORD)
            snprintf(name, sizeof name, "%.*s", (int)token.length + 1, sign.start);
        else if (!mockdb_is_sign(sign, '?'))
            continue;
        number = *name != '\0' ? mock_parameter_named(statement, name) : number;
        if (number < 1 || (size_t)number > sql.length)
            continue;
        if (*name != '\0')
            memcpy(statement->names[number - 1], name, sizeof name);
        if (number > statement->parameter_count)
            statement->parameter_count = number;
    }
}

static sqlite3_stmt *make(sqlite3 *db, struct mockdb_text sql)
{
    sqlite3_stmt *statement = zeroed(sizeof *statement);
    statement->magic = MOCK_STATEMENT_LIVE;
    statement->db = db;
    statement->sql = zeroed(sql.length + 1);
    memcpy(statement->sql, sql.start, sql.length);
    find_parameters(statement);
    size_t count = (size_t)statement->parameter_count + 1;
    statement->parameters = zeroed(count * sizeof *statement->parameters);
    struct mockdb_text text = {statement->sql, sql.length};
    statement->columns = mockdb_describe(text);
    statement->token = mockdb_lend(1);
    db->statements++;
    return statement;
}

int sqlite3_prepare_v3(sqlite3 *db, const char *zSql, int nByte, unsigned int prepFlags,
                       sqlite3_stmt **ppStmt, const char **pzTail)
{
    (void)prepFlags;
    if (!mock_live(db, "sqlite3_prepare"))
        return SQLITE_MISUSE;
    size_t length = nByte < 0 ? strlen(zSql) : strnlen(zSql, (size_t)nByte);
    char *copy = zeroed(length + 1);
    memcpy(copy, zSql, length);
    const char *rest = copy;
    struct mockdb_text sql;
    *ppStmt = NULL;
    bool some = mockdb_next_statement(&rest, &sql);
    if (pzTail != NULL)
        *pzTail = zSql + (rest - copy);
    if (!some) {
        free(copy);
        return mock_set_error(db, SQLITE_OK, "not an error");
    }
    char *text = zeroed(sql.length + 1);
    memcpy(text, sql.start, sql.length);
    struct mockdb_result *answer = mockdb_prepare(&db->session, "sqlite3_prepare", "", text);
    int code = answer->sqlstate != NULL ? mock_set_error(db, answer->number, answer->message)
                                        : mock_set_error(db, SQLITE_OK, "not an error");
    if (code == SQLITE_OK)
        *ppStmt = make(db, sql);
    mockdb_end(answer);
    free(text);
    free(copy);
    return code;
}

int sqlite3_prepare_v2(sqlite3 *db, const char *zSql, int nByte, sqlite3_stmt **ppStmt,
                       const char **pzTail)
{
    return sqlite3_prepare_v3(db, zSql, nByte, 0, ppStmt, pzTail);
}

int sqlite3_prepare(sqlite3 *db, const char *zSql, int nByte, sqlite3_stmt **ppStmt,
                    const char **pzTail)
{
    return sqlite3_prepare_v3(db, zSql, nByte, 0, ppStmt, pzTail);
}

/* Makes the texts of the last row unusable. */
static void spoil_row(sqlite3_stmt *statement)
{
    if (statement->bytes != NULL)
        memset(statement->bytes, 0xDD, statement->size);
    statement->row = NULL;
    statement->bytes = NULL;
}

static void end_answer(sqlite3_stmt *statement)
{
    spoil_row(statement);
    if (statement->answer != NULL)
        mockdb_end(statement->answer);
    statement->answer = NULL;
    statement->next = 0;
}

/* Copies the next row to memory of its own. */
static void copy_row(sqlite3_stmt *statement)
{
    struct mockdb_result *answer = statement->answer;
    size_t fields = (size_t)answer->fields, size = 1;
    const struct mockdb_value *values = &answer->values[(size_t)statement->next++ * fields];
    spoil_row(statement);
    for (size_t i = 0; i < fields; i++)
        size += (size_t)values[i].length + 1;
    char *at = statement->bytes = mockdb_allocate(answer, size);
    statement->size = size;
    statement->row = (void *)mockdb_allocate(answer, (fields + 1) * sizeof *statement->row);
    for (size_t i = 0; i < fields; i++) {
        statement->row[i] = values[i];
        statement->row[i].text = at;
        memcpy(at, values[i].text, (size_t)values[i].length + 1);
        at += values[i].length + 1;
    }
}

static void run(sqlite3_stmt *statement)
{
    struct mockdb_text sql = {statement->sql, strlen(statement->sql)};
    size_t count = (size_t)statement->parameter_count;
    struct mockdb_parameter *parameters = zeroed((count + 1) * sizeof *parameters);
    for (size_t i = 0; i < count; i++) {
        parameters[i].bytes = statement->parameters[i].bytes;
        parameters[i].length = statement->parameters[i].length;
    }
    end_answer(statement);
    statement->answer = mockdb_run(&statement->db->session, "sqlite3_step", sql, (int)count,
                                   parameters);
    free(parameters);
}

int sqlite3_step(sqlite3_stmt *statement)
{
    if (!mock_statement_live(statement, "sqlite3_step"))
        return SQLITE_MISUSE;
    if (statement->stage != MOCK_ROW) {
        run(statement);
        statement->code = mock_note_answer(statement->db, statement->answer);
        statement->stage = MOCK_DONE;
        if (statement->code != SQLITE_OK)
            return statement->code;
    }
    if (statement->next < statement->answer->rows) {
        copy_row(statement);
        statement->stage = MOCK_ROW;
        return mock_set_error(statement->db, SQLITE_ROW, "another row available");
    }
    spoil_row(statement);
    statement->stage = MOCK_DONE;
    return mock_set_error(statement->db, SQLITE_DONE, "no more rows available");
}

int sqlite3_reset(sqlite3_stmt *statement)
{
    if (statement == NULL)
        return SQLITE_OK;
    if (!mock_statement_live(statement, "sqlite3_reset"))
        return SQLITE_MISUSE;
    int code = statement->code;
    if (code == SQLITE_OK)
        mock_set_error(statement->db, SQLITE_OK, "not an error");
    end_answer(statement);
    statement->stage = MOCK_READY;
    statement->code = SQLITE_OK;
    return code;
}

int sqlite3_finalize(sqlite3_stmt *statement)
{
    if (statement == NULL)
        return SQLITE_OK;
    if (!mock_statement_live(statement, "sqlite3_finalize"))
        return SQLITE_MISUSE;
    int code = sqlite3_reset(statement);
    statement->magic = MOCK_STATEMENT_ENDED;
    statement->db->statements--;
    mockdb_give_back(statement->token);
    return code;
}
