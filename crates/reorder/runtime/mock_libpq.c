/*
 * A mock of libpq: connections and queries. What is not here, the linker names.
 *
 * mock_libpq_result.c has the functions that look at results, mock_libpq_text.c those that quote.
 */
#include "mock_libpq.h"
#include "mock_input.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTION_LIVE = 0x50471, CONNECTION_ENDED = 0xDD };

static const struct mockdb_failure failures[] = {
    {"LOST", 0, MOCKDB_LOSES, "server closed the connection unexpectedly\n"},
    {NULL, 0, MOCKDB_FAILS_TRANSACTION, "ERROR:  the query failed with SQLSTATE %.8s\n"},
};

const struct mockdb_api mockdb_api = {MOCKDB_POSTGRESQL, failures};

struct statement {
    struct statement *next;
    char *name;
    char *sql;
};

struct pg_conn {
    unsigned magic;
    struct mockdb_session session;
    char message[160];
    struct statement *statements;
};

static struct statement *preset;

static char *copy(const char *text, size_t length)
{
    char *to = calloc(1, length + 1);
    if (to == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    memcpy(to, text, length);
    return to;
}

static void define(struct statement **list, const char *name, const char *sql)
{
    struct statement *statement = calloc(1, sizeof *statement);
    if (statement == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    statement->name = copy(name, strlen(name));
    statement->sql = copy(sql, strlen(sql));
    statement->next = *list;
    *list = statement;
}

/* Reads the statements that were prepared beforehand, once. */
static void load_preset(void)
{
    static bool loaded;
    const char *path = getenv("MOCKDB_PREPARED");
    FILE *file = !loaded && path != NULL ? fopen(path, "r") : NULL;
    char name[256], sql[16384];
    loaded = true;
    while (file != NULL && fscanf(file, " %255[^\t]\t%16383[^\n]", name, sql) == 2)
        define(&preset, name, sql);
    if (file != NULL)
        fclose(file);
}

static const char *find_statement(const PGconn *conn, const char *name)
{
    const struct statement *lists[] = {conn->statements, preset};
    for (int i = 0; i < 2; i++) {
        for (const struct statement *at = lists[i]; at != NULL; at = at->next) {
            if (strcmp(at->name, name) == 0)
                return at->sql;
        }
    }
    return NULL;
}

static bool live(const PGconn *conn, const char *call)
{
    char text[128];
    if (conn == NULL)
        return false;
    if (conn->magic == CONNECTION_LIVE)
        return true;
    snprintf(text, sizeof text, "%s on a connection that is finished", call);
    mockdb_misuse(text, 0);
    return false;
}

PGconn *PQconnectdb(const char *conninfo)
{
    static int count;
    PGconn *conn = calloc(1, sizeof *conn);
    (void)conninfo;
    if (conn == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    load_preset();
    conn->magic = CONNECTION_LIVE;
    conn->session.number = ++count;
    return conn;
}

PGconn *PQconnectdbParams(const char *const *keywords, const char *const *values,
                          int expand_dbname)
{
    (void)keywords;
    (void)values;
    (void)expand_dbname;
    return PQconnectdb("");
}

PGconn *PQsetdbLogin(const char *pghost, const char *pgport, const char *pgoptions,
                     const char *pgtty, const char *dbName, const char *login, const char *pwd)
{
    (void)pghost;
    (void)pgport;
    (void)pgoptions;
    (void)pgtty;
    (void)dbName;
    (void)login;
    (void)pwd;
    return PQconnectdb("");
}

void *mockdb_connect(void)
{
    return PQconnectdb("");
}

void mockdb_begin(void *connection)
{
    PQclear(PQexec(connection, "BEGIN"));
}

void PQfinish(PGconn *conn)
{
    if (!live(conn, "PQfinish"))
        return;
    conn->magic = CONNECTION_ENDED;
    memset(conn->message, 0xDD, sizeof conn->message - 1);
}

void PQreset(PGconn *conn)
{
    if (!live(conn, "PQreset"))
        return;
    conn->session.state = MOCKDB_IDLE;
    conn->session.savepoints = 0;
    conn->statements = NULL;
    conn->message[0] = '\0';
}

ConnStatusType PQstatus(const PGconn *conn)
{
    bool good = live(conn, "PQstatus") && conn->session.state != MOCKDB_LOST;
    return good ? CONNECTION_OK : CONNECTION_BAD;
}

PGTransactionStatusType PQtransactionStatus(const PGconn *conn)
{
    static const PGTransactionStatusType statuses[] = {PQTRANS_IDLE, PQTRANS_INTRANS,
                                                       PQTRANS_INERROR, PQTRANS_UNKNOWN};
    return live(conn, "PQtransactionStatus") ? statuses[conn->session.state] : PQTRANS_UNKNOWN;
}

char *PQerrorMessage(const PGconn *conn)
{
    static char none[] = "connection pointer is NULL\n";
    return live(conn, "PQerrorMessage") ? ((PGconn *)(uintptr_t)conn)->message : none;
}

/* Makes the result of a call, whose message is then the connection's. */
static PGresult *finish(PGconn *conn, struct mockdb_result *answer)
{
    snprintf(conn->message, sizeof conn->message, "%s", answer->message);
    return mock_result_of(answer);
}

/* Runs the statements of a text one after the other, until one fails; the last one's result is
 * that of the call. */
static struct mockdb_result *run_all(PGconn *conn, const char *call, const char *sql)
{
    struct mockdb_result *last = NULL;
    struct mockdb_text statement;
    while ((last == NULL || last->sqlstate == NULL) && mockdb_next_statement(&sql, &statement)) {
        if (last != NULL)
            mockdb_end(last);
        last = mockdb_run(&conn->session, call, statement, 0, NULL);
    }
    if (last == NULL) {
        struct mockdb_text empty = {"", 0};
        last = mockdb_run(&conn->session, call, empty, 0, NULL);
    }
    return last;
}

PGresult *PQexec(PGconn *conn, const char *query)
{
    if (!live(conn, "PQexec"))
        return NULL;
    if (query == NULL)
        return finish(conn, mockdb_error("", "command string is a null pointer\n"));
    return finish(conn, run_all(conn, "PQexec", query));
}

static PGresult *run_with(PGconn *conn, const char *call, const char *sql, int count,
                          const char *const *values, const int *lengths, const int *formats)
{
    struct mockdb_parameter *parameters = calloc((size_t)count + 1, sizeof *parameters);
    struct mockdb_text text = {sql, strlen(sql)};
    if (parameters == NULL)
        exit(MOCKDB_EXIT_NO_MEMORY);
    while (text.length > 0 && (sql[text.length - 1] == ';' || sql[text.length - 1] == ' '))
        text.length--;
    for (int i = 0; i < count; i++) {
        parameters[i].bytes = values != NULL ? values[i] : NULL;
        parameters[i].binary = formats != NULL && formats[i] == 1;
        if (parameters[i].bytes != NULL && parameters[i].binary && lengths != NULL)
            parameters[i].length = (size_t)lengths[i];
        else if (parameters[i].bytes != NULL)
            parameters[i].length = strlen(values[i]);
    }
    PGresult *result = finish(conn, mockdb_run(&conn->session, call, text, count, parameters));
    free(parameters);
    return result;
}

PGresult *PQexecParams(PGconn *conn, const char *command, int nParams, const Oid *paramTypes,
                       const char *const *paramValues, const int *paramLengths,
                       const int *paramFormats, int resultFormat)
{
    (void)paramTypes;
    if (!live(conn, "PQexecParams"))
        return NULL;
    if (resultFormat != 0)
        mockdb_unsupported("results in binary format");
    if (command == NULL || nParams < 0)
        return finish(conn, mockdb_error("", "command string is a null pointer\n"));
    return run_with(conn, "PQexecParams", command, nParams, paramValues, paramLengths,
                    paramFormats);
}

PGresult *PQprepare(PGconn *conn, const char *stmtName, const char *query, int nParams,
                    const Oid *paramTypes)
{
    (void)nParams;
    (void)paramTypes;
    if (!live(conn, "PQprepare"))
        return NULL;
    if (stmtName == NULL || query == NULL)
        return finish(conn, mockdb_error("", "statement name is a null pointer\n"));
    struct mockdb_result *answer = mockdb_prepare(&conn->session, "PQprepare", stmtName, query);
    if (answer->sqlstate == NULL)
        define(&conn->statements, stmtName, query);
    return finish(conn, answer);
}

PGresult *PQexecPrepared(PGconn *conn, const char *stmtName, int nParams,
                         const char *const *paramValues, const int *paramLengths,
                         const int *paramFormats, int resultFormat)
{
    if (!live(conn, "PQexecPrepared"))
        return NULL;
    if (resultFormat != 0)
        mockdb_unsupported("results in binary format");
    const char *sql = stmtName != NULL ? find_statement(conn, stmtName) : NULL;
    if (sql == NULL) {
        char text[300];
        snprintf(text, sizeof text, "the prepared statement \"%s\", which is not known",
                 stmtName != NULL ? stmtName : "");
        mockdb_unsupported(text);
    }
    return run_with(conn, "PQexecPrepared", sql, nParams, paramValues, paramLengths, paramFormats);
}

/* What the connection says of itself. */

const char *PQparameterStatus(const PGconn *conn, const char *paramName)
{
    (void)conn;
    if (strcmp(paramName, "server_version") == 0)
        return "15.0";
    return strstr(paramName, "encoding") != NULL ? "UTF8" : "on";
}

int PQserverVersion(const PGconn *conn)
{
    return live(conn, "PQserverVersion") ? 150000 : 0;
}

int PQprotocolVersion(const PGconn *conn)
{
    return live(conn, "PQprotocolVersion") ? 3 : 0;
}

int PQlibVersion(void)
{
    return 150000;
}

int PQbackendPID(const PGconn *conn)
{
    return live(conn, "PQbackendPID") ? 4242 : 0;
}

int PQclientEncoding(const PGconn *conn)
{
    (void)conn;
    return 6;
}

int PQsetClientEncoding(PGconn *conn, const char *encoding)
{
    (void)encoding;
    return live(conn, "PQsetClientEncoding") ? 0 : -1;
}

int PQisthreadsafe(void)
{
    return 1;
}

PGVerbosity PQsetErrorVerbosity(PGconn *conn, PGVerbosity verbosity)
{
    (void)conn;
    (void)verbosity;
    return PQERRORS_DEFAULT;
}

PQnoticeProcessor PQsetNoticeProcessor(PGconn *conn, PQnoticeProcessor proc, void *arg)
{
    (void)conn;
    (void)proc;
    (void)arg;
    return NULL;
}

PQnoticeReceiver PQsetNoticeReceiver(PGconn *conn, PQnoticeReceiver proc, void *arg)
{
    (void)conn;
    (void)proc;
    (void)arg;
    return NULL;
}
