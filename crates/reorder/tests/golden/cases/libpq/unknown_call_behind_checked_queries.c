// All that libpq leaves of a query is its error, and each query is checked.
// api: libpq
// expect: moves
// keeps: barrier, calls `note`
#include <libpq-fe.h>

void note(PGconn *db);

int pay(PGconn *db)
{
    PGresult *result = PQexec(db, "BEGIN");

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        return -1;
    PQclear(result);
    result = PQexec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(result);
    result = PQexec(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(result);
    note(db);
    result = PQexec(db, "COMMIT");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(result);
    return 0;
fail:
    PQclear(result);
    PQclear(PQexec(db, "ROLLBACK"));
    return -1;
}
