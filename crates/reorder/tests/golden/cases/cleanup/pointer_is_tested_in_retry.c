// Behind an exit the function tries again, and counts the attempts that have read.
// api: libpq
// isolation: serializable
// expect: unchanged
// keeps: read after write, it writes `read`
#include <stddef.h>
#include <stdlib.h>

#include <libpq-fe.h>

int pay(PGconn *db, int *reads)
{
    PGresult *region = NULL, *read = NULL;

    for (int tries = 0; tries < 3; tries++) {
        PQclear(PQexec(db, "BEGIN ISOLATION LEVEL SERIALIZABLE"));
        read = PQexec(db, "SELECT s_total FROM shop WHERE s_id = 1 FOR UPDATE");
        if (PQresultStatus(read) != PGRES_TUPLES_OK)
            goto undo;
        region = PQexec(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 1");
        if (PQresultStatus(region) != PGRES_COMMAND_OK)
            goto undo;
        PQclear(PQexec(db, "COMMIT"));
        PQclear(region);
        PQclear(read);
        return 0;
undo:
        PQclear(PQexec(db, "ROLLBACK"));
        PQclear(region);
        region = NULL;
        if (read != NULL)
            ++*reads;
        PQclear(read);
        read = NULL;
    }
    return -1;
}
