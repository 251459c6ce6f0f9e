/* A prepared statement of the SQLite mock. */
#ifndef MOCK_SQLITE_STATEMENT_H
#define MOCK_SQLITE_STATEMENT_H

#include "mock_sqlite.h"

enum { MOCK_STATEMENT_LIVE = 0x57A7, MOCK_STATEMENT_ENDED = 0xDD };

/* The value of a parameter: a text of its own, or one of the program that is read when the
 * statement runs. */
struct mock_bound {
    const char *bytes; /* NULL for the null value */
    size_t length;
    char *copy;
};

/* A statement is ready to run, has a row, or is done. */
enum mock_stage { MOCK_READY, MOCK_ROW, MOCK_DONE };

/* A statement. It is never freed, so that its use after sqlite3_finalize is recognised. */
struct sqlite3_stmt {
    unsigned magic;
    sqlite3 *db;
    char *sql;
    char (*names)[64]; /* of the parameters; "" for one without a name */
    int parameter_count;
    struct mock_bound *parameters;
    enum mock_stage stage;
    int code; /* of the last step, if it failed */
    struct mockdb_result *answer;
    struct mockdb_result *columns; /* without rows */
    int next;
    struct mockdb_value *row; /* a copy, which the next step overwrites */
    char *bytes;
    size_t size;
    void *token; /* memory that the program gives back with the statement */
};

/* Returns true if the statement may be used; otherwise it records the misuse. */
bool mock_statement_live(const sqlite3_stmt *statement, const char *call);
/* Returns the number of the parameter with a name, a new one if there is none. */
int mock_parameter_named(const sqlite3_stmt *statement, const char *name);

#endif
