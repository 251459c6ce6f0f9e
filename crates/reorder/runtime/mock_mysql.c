/*
 * A mock of the C interface of MySQL and MariaDB: connections and queries as texts. What is not
 * here, the linker names.
 *
 * mock_mysql_result.c has the functions that look at results, mock_mysql_statement.c prepared
 * statements, mock_mysql_bind.c their buffers, mock_mysql_text.c what quotes and describes.
 */
#include "mock_mysql.h"
#include "mock_input.h"

#include <stdlib.h>
#include <string.h>

static const struct mockdb_failure failures[] = {
    {"LOST", 2013, MOCKDB_LOSES, "Lost connection to server during query"},
    {"40001", 1213, MOCKDB_ROLLS_BACK, "Deadlock found when trying to get lock"},
    {"HY000", 1205, MOCKDB_FAILS_QUERY, "Lock wait timeout exceeded"},
    {"23000", 1062, MOCKDB_FAILS_QUERY, "Duplicate entry for key"},
    {"70100", 1317, MOCKDB_FAILS_QUERY, "Query execution was interrupted"},
    {"42000", 1305, MOCKDB_FAILS_QUERY, "SAVEPOINT does not exist"},
    {NULL, 1105, MOCKDB_FAILS_QUERY, "The query failed with SQLSTATE %.8s"},
};

const struct mockdb_api mockdb_api = {MOCKDB_MYSQL, failures};

static struct mock_connection *connections;

struct mock_connection *mock_connection_of(const MYSQL *mysql, const char *call)
{
    char text[128];
    struct mock_connection *at = connections;
    while (at != NULL && at->handle != mysql)
        at = at->next;
    if (at != NULL && !at->closed)
        return at;
    snprintf(text, sizeof text, "%s on a connection that is %s", call,
             at != NULL ? "closed" : "not known");
    mockdb_misuse(text, 0);
    return NULL;
}

void mock_set_error(struct mock_error *error, const struct mockdb_result *answer)
{
    memset(error, 0, sizeof *error);
    snprintf(error->state, sizeof error->state, "00000");
    if (answer == NULL || answer->sqlstate == NULL)
        return;
    error->number = (unsigned)answer->number;
    const char *state = *answer->sqlstate != '\0' ? answer->sqlstate : "HY000";
    snprintf(error->state, sizeof error->state, "%.5s", state);
    snprintf(error->text, sizeof error->text, "%s", answer->message);
}

void mock_out_of_sync(struct mock_error *error, const char *call)
{
    char text[128];
    snprintf(text, sizeof text, "%s while rows of another query are not read", call);
    mockdb_misuse(text, 0);
    error->number = MOCK_OUT_OF_SYNC;
    snprintf(error->state, sizeof error->state, "HY000");
    snprintf(error->text, sizeof error->text,
             "Commands out of sync; you can't run this command now");
}

bool mock_is_ready(const struct mock_connection *connection)
{
    return connection->pending == NULL && !connection->streams;
}

void mock_note_answer(struct mock_connection *connection, const struct mockdb_result *answer)
{
    connection->fields = (unsigned)answer->fields;
    connection->affected = (my_ulonglong)-1;
    if (answer->sqlstate != NULL || answer->fields > 0)
        return;
    connection->affected = (my_ulonglong)answer->changed;
    connection->inserted = (my_ulonglong)answer->inserted;
}

MYSQL *STDCALL mysql_init(MYSQL *mysql)
{
    struct mock_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    connection->handle = mysql != NULL ? mysql : calloc(1, sizeof *mysql);
    if (connection->handle == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    connection->next = connections;
    mock_set_error(&connection->error, NULL);
    connections = connection;
    return (MYSQL *)(uintptr_t)connection->handle;
}

MYSQL *STDCALL mysql_real_connect(MYSQL *mysql, const char *host, const char *user,
                                  const char *passwd, const char *db, unsigned int port,
                                  const char *unix_socket, unsigned long clientflag)
{
    static int count;
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_real_connect");
    (void)host, (void)user, (void)passwd, (void)db, (void)port, (void)unix_socket;
    if (connection == NULL)
        return NULL;
    connection->several = (clientflag & CLIENT_MULTI_STATEMENTS) != 0;
    connection->session.number = ++count;
    return mysql;
}

void STDCALL mysql_close(MYSQL *mysql)
{
    struct mock_connection *connection =
        mysql != NULL ? mock_connection_of(mysql, "mysql_close") : NULL;
    if (connection != NULL)
        connection->closed = true;
}

void *mockdb_connect(void)
{
    return mysql_real_connect(mysql_init(NULL), NULL, NULL, NULL, NULL, 0, NULL, 0);
}

void mockdb_begin(void *connection)
{
    mysql_query(connection, "BEGIN");
}

int STDCALL mysql_real_query(MYSQL *mysql, const char *q, unsigned long length)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_query");
    struct mockdb_text statement;
    if (connection == NULL)
        return 1;
    if (!mock_is_ready(connection)) {
        mock_out_of_sync(&connection->error, "mysql_query");
        return 1;
    }
    char *text = calloc(1, length + 1);
    if (text == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    memcpy(text, q, length);
    const char *rest = text;
    struct mockdb_text more, none = {"", 0};
    bool some = mockdb_next_statement(&rest, &statement);
    if (mockdb_next_statement(&rest, &more))
        mockdb_unsupported("several statements in one query");
    struct mockdb_result *answer =
        mockdb_run(&connection->session, "mysql_query", some ? statement : none, 0, NULL);
    free(text);
    mock_set_error(&connection->error, answer);
    mock_note_answer(connection, answer);
    if (answer->fields > 0)
        connection->pending = answer;
    else
        mockdb_end(answer);
    return answer->sqlstate != NULL;
}

int STDCALL mysql_query(MYSQL *mysql, const char *q)
{
    return mysql_real_query(mysql, q, (unsigned long)strlen(q));
}

my_bool STDCALL mysql_commit(MYSQL *mysql)
{
    return mysql_query(mysql, "COMMIT") != 0;
}

my_bool STDCALL mysql_rollback(MYSQL *mysql)
{
    return mysql_query(mysql, "ROLLBACK") != 0;
}

my_bool STDCALL mysql_autocommit(MYSQL *mysql, my_bool mode)
{
    return mysql_query(mysql, mode ? "SET autocommit=1" : "SET autocommit=0") != 0;
}

/* What the last query left on the connection. */

my_ulonglong STDCALL mysql_affected_rows(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_affected_rows");
    return connection != NULL ? connection->affected : (my_ulonglong)-1;
}

my_ulonglong STDCALL mysql_insert_id(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_insert_id");
    return connection != NULL ? connection->inserted : 0;
}

unsigned int STDCALL mysql_field_count(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_field_count");
    return connection != NULL ? connection->fields : 0;
}

unsigned int STDCALL mysql_errno(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_errno");
    return connection != NULL ? connection->error.number : 2006;
}

const char *STDCALL mysql_error(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_error");
    return connection != NULL ? connection->error.text : "no connection";
}

const char *STDCALL mysql_sqlstate(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_sqlstate");
    return connection != NULL ? connection->error.state : "HY000";
}

const char *STDCALL mysql_info(MYSQL *mysql)
{
    (void)mock_connection_of(mysql, "mysql_info");
    return NULL;
}

unsigned int STDCALL mysql_warning_count(MYSQL *mysql)
{
    (void)mock_connection_of(mysql, "mysql_warning_count");
    return 0;
}

my_bool STDCALL mysql_more_results(MYSQL *mysql)
{
    (void)mock_connection_of(mysql, "mysql_more_results");
    return 0;
}

int STDCALL mysql_next_result(MYSQL *mysql)
{
    (void)mock_connection_of(mysql, "mysql_next_result");
    return -1;
}

int STDCALL mysql_ping(MYSQL *mysql)
{
    struct mock_connection *connection = mock_connection_of(mysql, "mysql_ping");
    return connection == NULL || connection->session.state == MOCKDB_LOST;
}
