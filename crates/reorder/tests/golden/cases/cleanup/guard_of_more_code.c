// The exits do something else, too, if there is a result.
// api: libpq
// isolation: serializable
// expect: unchanged
// keeps: read after write, it writes `region`
#include <stddef.h>
#include <stdlib.h>

#include <libpq-fe.h>

int pay(PGconn *db)
{
    int status = -1, balance = 0;
    PGresult *region = NULL, *read = NULL;

    PQclear(PQexec(db, "BEGIN ISOLATION LEVEL SERIALIZABLE"));
    region = PQexec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(region) != PGRES_COMMAND_OK)
        goto undo;
    read = PQexec(db, "SELECT c_balance FROM customer WHERE c_id = 1");
    if (PQresultStatus(read) != PGRES_TUPLES_OK)
        goto undo;
    balance = atoi(PQgetvalue(read, 0, 0));
    PQclear(PQexec(db, "COMMIT"));
    status = balance;
    goto done;
undo:
    PQclear(PQexec(db, "ROLLBACK"));
done:
    if (region != NULL) {
        PQclear(region);
        region = NULL;
        status -= 1;
    }
    PQclear(read);
    return status;
}
