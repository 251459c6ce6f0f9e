/* A mock of SQLite's C interface: the parameters of prepared statements. */
#include "mock_sqlite_statement.h"

#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    return memory;
}

/* Returns the place of a parameter, or NULL with the code of the error. */
static struct mock_bound *place(sqlite3_stmt *statement, int index, int *code)
{
    *code = SQLITE_MISUSE;
    if (!mock_statement_live(statement, "sqlite3_bind"))
        return NULL;
    if (statement->stage != MOCK_READY) {
        mockdb_misuse("a parameter is bound before sqlite3_reset", 0);
        mock_set_error(statement->db, SQLITE_MISUSE, "bad parameter or other API misuse");
        return NULL;
    }
    if (index < 1 || index > statement->parameter_count) {
        *code = mock_set_error(statement->db, SQLITE_RANGE, "column index out of range");
        return NULL;
    }
    *code = mock_set_error(statement->db, SQLITE_OK, "not an error");
    struct mock_bound *bound = &statement->parameters[index - 1];
    free(bound->copy);
    memset(bound, 0, sizeof *bound);
    return bound;
}

static void keep_copy(struct mock_bound *bound, const char *bytes, size_t length)
{
    bound->copy = zeroed(length + 1);
    memcpy(bound->copy, bytes, length);
    bound->bytes = bound->copy;
    bound->length = length;
}

/* A static text is read when the statement runs, any other one now. */
static int bind_bytes(sqlite3_stmt *statement, int index, const char *bytes, size_t length,
                      void (*destructor)(void *))
{
    int code;
    struct mock_bound *bound = place(statement, index, &code);
    bool fixed = destructor == SQLITE_STATIC;
    if (bound != NULL && bytes != NULL && fixed) {
        bound->bytes = bytes;
        bound->length = length;
    } else if (bound != NULL && bytes != NULL) {
        keep_copy(bound, bytes, length);
    }
    if (!fixed && destructor != SQLITE_TRANSIENT && bytes != NULL)
        destructor((void *)(uintptr_t)bytes);
    return code;
}

static int bind_print(sqlite3_stmt *statement, int index, const char *text)
{
    int code;
    struct mock_bound *bound = place(statement, index, &code);
    if (bound != NULL)
        keep_copy(bound, text, strlen(text));
    return code;
}

int sqlite3_bind_text(sqlite3_stmt *statement, int index, const char *text, int n,
                      void (*destructor)(void *))
{
    size_t length = text == NULL ? 0 : n < 0 ? strlen(text) : (size_t)n;
    return bind_bytes(statement, index, text, length, destructor);
}

int sqlite3_bind_text64(sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 n,
                        void (*destructor)(void *), unsigned char encoding)
{
    (void)encoding;
    return bind_bytes(statement, index, text, (size_t)n, destructor);
}

int sqlite3_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int n,
                      void (*destructor)(void *))
{
    return bind_bytes(statement, index, bytes, n < 0 ? 0 : (size_t)n, destructor);
}

int sqlite3_bind_int64(sqlite3_stmt *statement, int index, sqlite3_int64 value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return bind_print(statement, index, text);
}

int sqlite3_bind_int(sqlite3_stmt *statement, int index, int value)
{
    return sqlite3_bind_int64(statement, index, value);
}

int sqlite3_bind_double(sqlite3_stmt *statement, int index, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    return bind_print(statement, index, text);
}

int sqlite3_bind_null(sqlite3_stmt *statement, int index)
{
    return bind_bytes(statement, index, NULL, 0, SQLITE_STATIC);
}

int sqlite3_bind_zeroblob(sqlite3_stmt *statement, int index, int n)
{
    char *zeros = zeroed(n > 0 ? (size_t)n : 1);
    return bind_bytes(statement, index, zeros, n > 0 ? (size_t)n : 0, free);
}

int sqlite3_clear_bindings(sqlite3_stmt *statement)
{
    if (!mock_statement_live(statement, "sqlite3_clear_bindings"))
        return SQLITE_MISUSE;
    for (int i = 0; i < statement->parameter_count; i++) {
        free(statement->parameters[i].copy);
        memset(&statement->parameters[i], 0, sizeof statement->parameters[i]);
    }
    return SQLITE_OK;
}

int sqlite3_bind_parameter_count(sqlite3_stmt *statement)
{
    bool live = mock_statement_live(statement, "sqlite3_bind_parameter_count");
    return live ? statement->parameter_count : 0;
}

int sqlite3_bind_parameter_index(sqlite3_stmt *statement, const char *name)
{
    if (!mock_statement_live(statement, "sqlite3_bind_parameter_index"))
        return 0;
    int number = mock_parameter_named(statement, name);
    return number <= statement->parameter_count ? number : 0;
}

const char *sqlite3_bind_parameter_name(sqlite3_stmt *statement, int index)
{
    if (!mock_statement_live(statement, "sqlite3_bind_parameter_name"))
        return NULL;
    bool known = index >= 1 && index <= statement->parameter_count;
    return known && *statement->names[index - 1] != '\0' ? statement->names[index - 1] : NULL;
}
