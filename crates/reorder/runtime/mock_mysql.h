/* What the files of the MySQL and MariaDB mock share. */
#ifndef MOCK_MYSQL_H
#define MOCK_MYSQL_H

#include "mock_core.h"

#include <mysql.h>

/* The headers of MySQL 8 and of MariaDB differ in these. */
#ifndef STDCALL
#define STDCALL
#endif
#ifdef MARIADB_BASE_VERSION
#define MOCK_INFO char *
#else
#define MOCK_INFO const char *
#define my_bool bool
#endif

enum { MOCK_OUT_OF_SYNC = 2014, MOCK_NO_DATA = 100, MOCK_TRUNCATED = 101 };

/* The last error of a connection or of a statement. */
struct mock_error {
    unsigned number;
    char state[6];
    char text[160];
};

/* A connection. The program may hold the structure of the interface itself, so its state stands
 * here. It is never freed, so that its use after mysql_close is recognised. */
struct mock_connection {
    struct mock_connection *next;
    const MYSQL *handle;
    bool closed;
    bool several; /* CLIENT_MULTI_STATEMENTS */
    struct mockdb_session session;
    struct mock_error error;
    struct mockdb_result *pending; /* an answer with rows that was not asked for yet */
    bool streams;                  /* rows are still to be read */
    unsigned fields;
    my_ulonglong affected;
    my_ulonglong inserted;
};

/* Returns the state of a connection, or NULL if there is none. */
struct mock_connection *mock_connection_of(const MYSQL *mysql, const char *call);
/* Sets or clears the error by an answer. */
void mock_set_error(struct mock_error *error, const struct mockdb_result *answer);
/* Notes a query that is sent too early. */
void mock_out_of_sync(struct mock_error *error, const char *call);
/* Returns true if the connection takes a query. */
bool mock_is_ready(const struct mock_connection *connection);
/* Keeps what an answer says of changes. */
void mock_note_answer(struct mock_connection *connection, const struct mockdb_result *answer);
/* Describes the columns of an answer, in its memory. */
MYSQL_FIELD *mock_fields_of(struct mockdb_result *answer);
/* Makes a result of columns alone, of a copy of the answer's. */
MYSQL_RES *mock_metadata_of(const struct mockdb_result *answer);
/* Writes the value of a parameter as text to a buffer of 64 bytes, unless it stands in the bound
 * buffer as it is. */
struct mockdb_parameter mock_parameter_of(const MYSQL_BIND *bind, char *buffer);
/* Writes the value of a column to the bound buffer, from an offset on; returns true if it does not
 * fit. */
bool mock_store(MYSQL_BIND *bind, const struct mockdb_value *value, unsigned long offset);

#endif
