/* A mock of the C interface of MySQL and MariaDB: what prepared statements say of themselves. */
#include "mock_mysql_statement.h"

#include <string.h>

my_ulonglong STDCALL mysql_stmt_num_rows(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_num_rows");
    bool stored = statement != NULL && statement->answer != NULL && !statement->streams;
    return stored ? (my_ulonglong)statement->answer->rows : 0;
}

my_ulonglong STDCALL mysql_stmt_affected_rows(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_affected_rows");
    return statement != NULL ? statement->affected : (my_ulonglong)-1;
}

my_ulonglong STDCALL mysql_stmt_insert_id(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_insert_id");
    return statement != NULL ? statement->inserted : 0;
}

unsigned int STDCALL mysql_stmt_field_count(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_field_count");
    if (statement == NULL || statement->sql == NULL)
        return 0;
    struct mockdb_text sql = {statement->sql, strlen(statement->sql)};
    return (unsigned)mockdb_field_count(sql);
}

unsigned long STDCALL mysql_stmt_param_count(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_param_count");
    return statement != NULL ? statement->parameter_count : 0;
}

unsigned int STDCALL mysql_stmt_errno(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_errno");
    return statement != NULL ? statement->error.number : 0;
}

const char *STDCALL mysql_stmt_error(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_error");
    return statement != NULL ? statement->error.text : "";
}

const char *STDCALL mysql_stmt_sqlstate(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_sqlstate");
    return statement != NULL ? statement->error.state : "HY000";
}

MYSQL_RES *STDCALL mysql_stmt_result_metadata(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_result_metadata");
    if (statement == NULL || statement->sql == NULL)
        return NULL;
    struct mockdb_text sql = {statement->sql, strlen(statement->sql)};
    struct mockdb_result *columns = mockdb_describe(sql);
    return columns->fields > 0 ? mock_metadata_of(columns) : NULL;
}

my_bool STDCALL mysql_stmt_attr_set(MYSQL_STMT *stmt, enum enum_stmt_attr_type attr_type,
                                    const void *attr)
{
    (void)attr;
    if (attr_type == STMT_ATTR_CURSOR_TYPE)
        mockdb_unsupported("a cursor of the server (STMT_ATTR_CURSOR_TYPE)");
    return mock_statement_of(stmt, "mysql_stmt_attr_set") == NULL;
}

void STDCALL mysql_stmt_data_seek(MYSQL_STMT *stmt, my_ulonglong offset)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_data_seek");
    if (statement == NULL || statement->answer == NULL)
        return;
    if (statement->streams || offset > (my_ulonglong)statement->answer->rows)
        mockdb_misuse("mysql_stmt_data_seek to a row that is not stored", statement->answer->key);
    statement->next = (int)offset;
}

/* An offset of a row is its number and 1, as a pointer. */
MYSQL_ROW_OFFSET STDCALL mysql_stmt_row_tell(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_row_tell");
    return statement != NULL ? (void *)((uintptr_t)statement->next + 1) : NULL;
}

MYSQL_ROW_OFFSET STDCALL mysql_stmt_row_seek(MYSQL_STMT *stmt, MYSQL_ROW_OFFSET offset)
{
    MYSQL_ROW_OFFSET before = mysql_stmt_row_tell(stmt);
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_row_seek");
    if (statement != NULL && offset != NULL)
        statement->next = (int)((uintptr_t)offset - 1);
    return before;
}
