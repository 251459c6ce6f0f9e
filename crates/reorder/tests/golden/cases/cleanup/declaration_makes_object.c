// The declaration makes the result: in front of it the pointer has no value.
// api: libpq
// isolation: serializable
// expect: unchanged
// keeps: read after write, it writes `hot`
#include <stddef.h>

#include <libpq-fe.h>

int pay(PGconn *db)
{
    int status = -1;
    PGresult *read = NULL;
    PQclear(PQexec(db, "BEGIN ISOLATION LEVEL SERIALIZABLE"));
    PGresult *hot = PQexec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(hot) != PGRES_COMMAND_OK) goto undo;
    read = PQexec(db, "SELECT c_balance FROM customer WHERE c_id = 1");
    if (PQresultStatus(read) != PGRES_TUPLES_OK) goto undo;
    PQclear(PQexec(db, "COMMIT"));
    status = 0;
    goto done;
undo:
    PQclear(PQexec(db, "ROLLBACK"));
done:
    PQclear(hot);
    PQclear(read);
    return status;
}
