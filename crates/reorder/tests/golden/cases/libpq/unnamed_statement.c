// The statement of the region has no name: the query of the customer, which has a text of its own,
// would replace it.
// api: libpq
// function: pay
// expect: unchanged
// keeps: barrier, unnamed
#include <libpq-fe.h>

int pay(PGconn *conn, const char *region, const char *customer)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQprepare(conn, "", "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", 1, NULL);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexecPrepared(conn, "", 1, &region, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexecParams(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = $1", 1, NULL,
                       &customer, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
