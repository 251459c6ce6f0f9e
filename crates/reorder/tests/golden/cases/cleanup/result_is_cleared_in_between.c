// The transaction clears the result itself: an exit behind that would clear it again.
// api: libpq
// isolation: serializable
// expect: unchanged
// keeps: write after read, it writes `read`
#include <stddef.h>
#include <stdlib.h>

#include <libpq-fe.h>

int pay(PGconn *db)
{
    int balance = 0;
    PGresult *region = NULL, *read = NULL;

    PQclear(PQexec(db, "BEGIN ISOLATION LEVEL SERIALIZABLE"));
    region = PQexec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(region) != PGRES_COMMAND_OK)
        goto undo;
    read = PQexec(db, "SELECT c_balance FROM customer WHERE c_id = 1");
    if (PQresultStatus(read) != PGRES_TUPLES_OK)
        goto undo;
    balance = atoi(PQgetvalue(read, 0, 0));
    PQclear(read);
    PQclear(PQexec(db, "COMMIT"));
    PQclear(region);
    return balance;
undo:
    PQclear(PQexec(db, "ROLLBACK"));
    PQclear(region);
    PQclear(read);
    return -1;
}
