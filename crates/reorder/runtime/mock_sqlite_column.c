/* A mock of SQLite's C interface: the rows of prepared statements. */
#include "mock_sqlite_statement.h"

#include <stdlib.h>
#include <string.h>

/* Returns the value, or NULL if there is none; SQLite then gives the null value. */
static const struct mockdb_value *value_at(sqlite3_stmt *statement, int column, const char *call)
{
    if (!mock_statement_live(statement, call))
        return NULL;
    if (statement->row == NULL || column < 0 || column >= statement->answer->fields) {
        char text[96];
        snprintf(text, sizeof text, "%s without a row, or of a column that it lacks", call);
        mockdb_misuse(text, statement->answer != NULL ? statement->answer->key : 0);
        return NULL;
    }
    const struct mockdb_value *value = &statement->row[column];
    return value->null ? NULL : value;
}

sqlite3_int64 sqlite3_column_int64(sqlite3_stmt *statement, int column)
{
    const struct mockdb_value *value = value_at(statement, column, "sqlite3_column_int");
    return value != NULL ? strtoll(value->text, NULL, 10) : 0;
}

int sqlite3_column_int(sqlite3_stmt *statement, int column)
{
    return (int)sqlite3_column_int64(statement, column);
}

double sqlite3_column_double(sqlite3_stmt *statement, int column)
{
    const struct mockdb_value *value = value_at(statement, column, "sqlite3_column_double");
    return value != NULL ? strtod(value->text, NULL) : 0.0;
}

const unsigned char *sqlite3_column_text(sqlite3_stmt *statement, int column)
{
    const struct mockdb_value *value = value_at(statement, column, "sqlite3_column_text");
    return value != NULL ? (const unsigned char *)value->text : NULL;
}

const void *sqlite3_column_blob(sqlite3_stmt *statement, int column)
{
    const struct mockdb_value *value = value_at(statement, column, "sqlite3_column_blob");
    return value != NULL && value->length > 0 ? value->text : NULL;
}

int sqlite3_column_bytes(sqlite3_stmt *statement, int column)
{
    const struct mockdb_value *value = value_at(statement, column, "sqlite3_column_bytes");
    return value != NULL ? value->length : 0;
}

/* Returns true if the whole text is a number; `real` says that it has a fraction. */
static bool is_number(const char *text, bool *real)
{
    char *end;
    (void)strtod(text, &end);
    *real = strpbrk(text, ".eE") != NULL;
    return end != text && *end == '\0';
}

int sqlite3_column_type(sqlite3_stmt *statement, int column)
{
    const struct mockdb_value *value = value_at(statement, column, "sqlite3_column_type");
    if (value == NULL)
        return SQLITE_NULL;
    const char *type = statement->answer->columns[column].type;
    bool text = type != NULL && (strstr(type, "char") != NULL || strstr(type, "text") != NULL
                                 || strstr(type, "date") != NULL);
    bool real;
    if (text || !is_number(value->text, &real))
        return type != NULL && strstr(type, "blob") != NULL ? SQLITE_BLOB : SQLITE_TEXT;
    return real ? SQLITE_FLOAT : SQLITE_INTEGER;
}

int sqlite3_column_count(sqlite3_stmt *statement)
{
    bool live = statement != NULL && mock_statement_live(statement, "sqlite3_column_count");
    return live ? statement->columns->fields : 0;
}

int sqlite3_data_count(sqlite3_stmt *statement)
{
    bool live = statement != NULL && mock_statement_live(statement, "sqlite3_data_count");
    return live && statement->row != NULL ? statement->answer->fields : 0;
}

const char *sqlite3_column_name(sqlite3_stmt *statement, int column)
{
    bool known = column >= 0 && column < sqlite3_column_count(statement);
    return known ? statement->columns->columns[column].name : NULL;
}

const char *sqlite3_column_decltype(sqlite3_stmt *statement, int column)
{
    bool known = column >= 0 && column < sqlite3_column_count(statement);
    return known ? statement->columns->columns[column].type : NULL;
}

const char *sqlite3_sql(sqlite3_stmt *statement)
{
    bool live = statement != NULL && mock_statement_live(statement, "sqlite3_sql");
    return live ? statement->sql : NULL;
}

sqlite3 *sqlite3_db_handle(sqlite3_stmt *statement)
{
    bool live = statement != NULL && mock_statement_live(statement, "sqlite3_db_handle");
    return live ? statement->db : NULL;
}

int sqlite3_stmt_readonly(sqlite3_stmt *statement)
{
    if (statement == NULL || !mock_statement_live(statement, "sqlite3_stmt_readonly"))
        return 1;
    struct mockdb_text sql = {statement->sql, strlen(statement->sql)};
    return mockdb_classify(sql) != MOCKDB_CHANGE;
}

int sqlite3_stmt_busy(sqlite3_stmt *statement)
{
    bool live = statement != NULL && mock_statement_live(statement, "sqlite3_stmt_busy");
    return live && statement->stage == MOCK_ROW;
}
