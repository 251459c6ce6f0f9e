// An exit says by the status that there is no second result.
// api: libpq
// isolation: serializable
// expect: unchanged
// keeps: exit, it leaves without ending what is made
#include <stddef.h>

#include <libpq-fe.h>

int pay(PGconn *db)
{
    int status = -1;
    PGresult *hot = NULL, *read = NULL;
    PQclear(PQexec(db, "BEGIN ISOLATION LEVEL SERIALIZABLE"));
    hot = PQexec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(hot) != PGRES_COMMAND_OK) { status = -2; goto undo; }
    read = PQexec(db, "SELECT c_balance FROM customer WHERE c_id = 1");
    if (PQresultStatus(read) != PGRES_TUPLES_OK || PQntuples(read) != 1) {
        status = -3;
        goto undo;
    }
    PQclear(PQexec(db, "COMMIT"));
    status = 0;
    goto done;
undo:
    PQclear(PQexec(db, "ROLLBACK"));
done:
    if (status != -2) PQclear(read);
    PQclear(hot);
    return status;
}
