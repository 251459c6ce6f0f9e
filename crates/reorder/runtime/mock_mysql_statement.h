/* A prepared statement of the MySQL and MariaDB mock. */
#ifndef MOCK_MYSQL_STATEMENT_H
#define MOCK_MYSQL_STATEMENT_H

#include "mock_mysql.h"

enum { STATEMENT_LIVE = 0x57A7, STATEMENT_CLOSED = 0xDD };

/* A statement, which the program knows as MYSQL_STMT. It is never freed, so that a use after
 * mysql_stmt_close is recognised. */
struct mock_statement {
    unsigned magic;
    struct mock_connection *connection;
    struct mock_error error;
    char *sql;
    unsigned long parameter_count;
    MYSQL_BIND *parameters;
    MYSQL_BIND *columns;
    struct mockdb_result *answer; /* with rows */
    bool streams;                 /* its rows are read from the connection */
    int next;
    unsigned fields;
    my_ulonglong affected;
    my_ulonglong inserted;
    void *token; /* memory that the program gives back with the statement */
};

/* Returns the statement, or NULL if it must not be used. */
struct mock_statement *mock_statement_of(MYSQL_STMT *stmt, const char *call);

#endif
