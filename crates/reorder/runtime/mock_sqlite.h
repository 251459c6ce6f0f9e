/* What the files of the SQLite mock share. */
#ifndef MOCK_SQLITE_H
#define MOCK_SQLITE_H

#include "mock_core.h"

#include <sqlite3.h>

/* A connection. It is never freed, so that its use after sqlite3_close is recognised. */
struct sqlite3 {
    unsigned magic;
    struct mockdb_session session;
    int code;
    char message[160];
    sqlite3_int64 rowid;
    int changes;
    int total;
    int statements; /* that are not finalized */
};

/* Returns true if the connection may be used; otherwise it records the misuse. */
bool mock_live(const sqlite3 *db, const char *call);
/* Keeps what an answer says of errors and changes, and returns the result code. */
int mock_note_answer(sqlite3 *db, const struct mockdb_result *answer);
/* Sets the error of a connection, and returns its code. */
int mock_set_error(sqlite3 *db, int code, const char *message);

#endif
