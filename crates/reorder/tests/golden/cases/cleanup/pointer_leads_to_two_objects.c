// One pointer gets both results, and the first is lost: an exit between them clears another one.
// api: libpq
// isolation: serializable
// renames: no
// expect: unchanged
// keeps: write after read, it writes `result`
#include <stddef.h>
#include <stdlib.h>

#include <libpq-fe.h>

int pay(PGconn *db)
{
    PGresult *result = NULL;

    PQclear(PQexec(db, "BEGIN ISOLATION LEVEL SERIALIZABLE"));
    result = PQexec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        goto undo;
    result = PQexec(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 1");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        goto undo;
    PQclear(PQexec(db, "COMMIT"));
    PQclear(result);
    return 0;
undo:
    PQclear(PQexec(db, "ROLLBACK"));
    PQclear(result);
    return -1;
}
