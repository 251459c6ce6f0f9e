/*
 * A mock of the C interface of MySQL and MariaDB: prepared statements.
 *
 * A statement keeps copies of the MYSQL_BIND structures, and with them the addresses of the
 * buffers: those of parameters are read when the statement runs, those of columns are written when
 * a row is fetched.
 */
#include "mock_mysql_statement.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 64 };

struct mock_statement *mock_statement_of(MYSQL_STMT *stmt, const char *call)
{
    char text[128];
    struct mock_statement *statement = (void *)stmt;
    if (statement == NULL)
        return NULL;
    if (statement->magic == STATEMENT_LIVE && !statement->connection->closed)
        return statement;
    snprintf(text, sizeof text, "%s on a statement that is closed", call);
    mockdb_misuse(text, 0);
    return NULL;
}

static void *zeroed(size_t size)
{
    void *memory = calloc(1, size);
    if (memory == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    return memory;
}

static int fail(struct mock_statement *statement, unsigned number, const char *text)
{
    statement->error.number = number;
    snprintf(statement->error.state, sizeof statement->error.state, "HY000");
    snprintf(statement->error.text, sizeof statement->error.text, "%s", text);
    return 1;
}

MYSQL_STMT *STDCALL mysql_stmt_init(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_stmt_init");
    if (connection == NULL)
        return NULL;
    struct mock_statement *statement = zeroed(sizeof *statement);
    statement->magic = STATEMENT_LIVE;
    statement->connection = connection;
    statement->token = mockdb_lend(1);
    mock_set_error(&statement->error, NULL);
    return (void *)statement;
}

/* Drops the rows that were not read. */
static void drop_rows(struct mock_statement *statement)
{
    if (statement->streams)
        statement->connection->streams = false;
    statement->streams = false;
    if (statement->answer != NULL)
        mockdb_end(statement->answer);
    statement->answer = NULL;
}

static unsigned long count_parameters(const char *sql)
{
    struct mockdb_text text = {sql, strlen(sql)};
    return (unsigned long)mockdb_count_sign(text, '?');
}

int STDCALL mysql_stmt_prepare(MYSQL_STMT *stmt, const char *query, unsigned long length)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_prepare");
    if (statement == NULL)
        return 1;
    drop_rows(statement);
    struct mock_connection *connection = statement->connection;
    if (!mock_is_ready(connection)) {
        mock_out_of_sync(&statement->error, "mysql_stmt_prepare");
        return 1;
    }
    char *sql = zeroed(length + 1);
    memcpy(sql, query, length);
    while (length > 0 && (sql[length - 1] == ';' || sql[length - 1] == ' '))
        sql[--length] = '\0';
    struct mockdb_result *answer =
        mockdb_prepare(&connection->session, "mysql_stmt_prepare", "", sql);
    mock_set_error(&statement->error, answer);
    mock_set_error(&connection->error, answer);
    bool failed = answer->sqlstate != NULL;
    mockdb_end(answer);
    statement->sql = failed ? NULL : sql;
    statement->parameter_count = failed ? 0 : count_parameters(sql);
    statement->parameters = statement->columns = NULL;
    return failed;
}

my_bool STDCALL mysql_stmt_bind_param(MYSQL_STMT *stmt, MYSQL_BIND *bnd)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_bind_param");
    if (statement == NULL)
        return 1;
    if (statement->sql == NULL)
        return fail(statement, 2030, "Statement is not prepared") != 0;
    size_t count = (size_t)statement->parameter_count;
    statement->parameters = zeroed((count + 1) * sizeof *bnd);
    if (count > 0)
        memcpy(statement->parameters, bnd, count * sizeof *bnd);
    return 0;
}

my_bool STDCALL mysql_stmt_bind_result(MYSQL_STMT *stmt, MYSQL_BIND *bnd)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_bind_result");
    if (statement == NULL)
        return 1;
    if (statement->sql == NULL)
        return fail(statement, 2030, "Statement is not prepared") != 0;
    struct mockdb_text sql = {statement->sql, strlen(statement->sql)};
    const struct mockdb_result *described = mockdb_describe(sql);
    if (described->names_unknown)
        mockdb_unsupported("buffers for columns whose number is not known");
    size_t count = (size_t)described->fields;
    statement->columns = zeroed((count + 1) * sizeof *bnd);
    memcpy(statement->columns, bnd, count * sizeof *bnd);
    return 0;
}

/* Runs the statement with the values that stand in the buffers now. */
static struct mockdb_result *run(struct mock_statement *statement)
{
    size_t count = (size_t)statement->parameter_count;
    struct mockdb_text sql = {statement->sql, strlen(statement->sql)};
    struct mockdb_parameter *parameters = zeroed((count + 1) * sizeof *parameters);
    char *numbers = zeroed((count + 1) * NUMBER_SIZE);
    for (size_t i = 0; i < count; i++)
        parameters[i] = mock_parameter_of(&statement->parameters[i], numbers + i * NUMBER_SIZE);
    struct mockdb_result *answer = mockdb_run(&statement->connection->session,
                                              "mysql_stmt_execute", sql, (int)count, parameters);
    free(parameters);
    free(numbers);
    return answer;
}

int STDCALL mysql_stmt_execute(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_execute");
    if (statement == NULL)
        return 1;
    if (statement->sql == NULL)
        return fail(statement, 2030, "Statement is not prepared");
    if (statement->parameter_count > 0 && statement->parameters == NULL) {
        mockdb_misuse("mysql_stmt_execute before the parameters are bound", 0);
        return fail(statement, 2031, "No data supplied for parameters in prepared statement");
    }
    drop_rows(statement);
    struct mock_connection *connection = statement->connection;
    if (!mock_is_ready(connection)) {
        mock_out_of_sync(&statement->error, "mysql_stmt_execute");
        return 1;
    }
    struct mockdb_result *answer = run(statement);
    mock_set_error(&statement->error, answer);
    mock_set_error(&connection->error, answer);
    mock_note_answer(connection, answer);
    statement->fields = connection->fields;
    statement->affected = connection->affected;
    statement->inserted = answer->sqlstate == NULL ? (my_ulonglong)answer->inserted : 0;
    statement->next = 0;
    bool failed = answer->sqlstate != NULL;
    if (answer->fields > 0) {
        statement->answer = answer;
        statement->streams = connection->streams = true;
    } else {
        mockdb_end(answer);
    }
    return failed;
}

#ifdef MARIADB_BASE_VERSION
int STDCALL mariadb_stmt_execute_direct(MYSQL_STMT *stmt, const char *stmt_str, size_t length)
{
    size_t size = length == (size_t)-1 ? strlen(stmt_str) : length;
    MYSQL_BIND *parameters =
        stmt != NULL ? ((struct mock_statement *)(void *)stmt)->parameters : NULL;
    if (mysql_stmt_prepare(stmt, stmt_str, (unsigned long)size) != 0)
        return 1;
    ((struct mock_statement *)(void *)stmt)->parameters = parameters;
    return mysql_stmt_execute(stmt);
}

MYSQL_FIELD *STDCALL mariadb_stmt_fetch_fields(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mariadb_stmt_fetch_fields");
    bool known = statement != NULL && statement->answer != NULL;
    return known ? mock_fields_of(statement->answer) : NULL;
}

int STDCALL mysql_stmt_warning_count(MYSQL_STMT *stmt)
{
    (void)mock_statement_of(stmt, "mysql_stmt_warning_count");
    return 0;
}
#endif

int STDCALL mysql_stmt_store_result(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_store_result");
    if (statement == NULL)
        return 1;
    if (statement->answer == NULL)
        return statement->fields == 0 ? 0 : fail(statement, MOCK_OUT_OF_SYNC, "out of sync");
    if (statement->streams)
        statement->connection->streams = false;
    statement->streams = false;
    statement->affected = (my_ulonglong)statement->answer->rows;
    return 0;
}

int STDCALL mysql_stmt_fetch(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_fetch");
    if (statement == NULL)
        return 1;
    struct mockdb_result *answer = statement->answer;
    if (answer == NULL) {
        mockdb_misuse("mysql_stmt_fetch of a statement without rows", 0);
        return fail(statement, 2053, "Attempt to read a row while there is no result set");
    }
    if (statement->next >= answer->rows) {
        if (statement->streams)
            statement->connection->streams = false;
        statement->streams = false;
        return MOCK_NO_DATA;
    }
    bool truncated = false;
    const struct mockdb_value *row = &answer->values[statement->next++ * answer->fields];
    for (int i = 0; i < answer->fields && statement->columns != NULL; i++)
        truncated |= mock_store(&statement->columns[i], &row[i], 0);
    return truncated ? MOCK_TRUNCATED : 0;
}

int STDCALL mysql_stmt_fetch_column(MYSQL_STMT *stmt, MYSQL_BIND *bind_arg, unsigned int column,
                                    unsigned long offset)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_fetch_column");
    if (statement == NULL)
        return 1;
    struct mockdb_result *answer = statement->answer;
    if (answer == NULL || statement->next == 0 || column >= (unsigned)answer->fields)
        return fail(statement, 2051, "Attempt to read column without prior row fetch");
    size_t at = (size_t)(statement->next - 1) * (size_t)answer->fields + column;
    (void)mock_store(bind_arg, &answer->values[at], offset);
    return 0;
}

my_bool STDCALL mysql_stmt_send_long_data(MYSQL_STMT *stmt, unsigned int param_number,
                                          const char *data, unsigned long length)
{
    (void)stmt, (void)param_number, (void)data, (void)length;
    mockdb_unsupported("mysql_stmt_send_long_data");
    return 1;
}

my_bool STDCALL mysql_stmt_free_result(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_free_result");
    if (statement == NULL)
        return 1;
    drop_rows(statement);
    return 0;
}

my_bool STDCALL mysql_stmt_reset(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_reset");
    if (statement == NULL)
        return 1;
    drop_rows(statement);
    mock_set_error(&statement->error, NULL);
    return 0;
}

my_bool STDCALL mysql_stmt_close(MYSQL_STMT *stmt)
{
    struct mock_statement *statement = mock_statement_of(stmt, "mysql_stmt_close");
    if (statement == NULL)
        return 1;
    drop_rows(statement);
    statement->magic = STATEMENT_CLOSED;
    mockdb_give_back(statement->token);
    return 0;
}

int STDCALL mysql_stmt_next_result(MYSQL_STMT *stmt)
{
    (void)mock_statement_of(stmt, "mysql_stmt_next_result");
    return -1;
}

my_bool STDCALL mysql_stmt_more_results(MYSQL_STMT *stmt)
{
    (void)mock_statement_of(stmt, "mysql_stmt_more_results");
    return 0;
}
