// `res` is set to NULL behind PQclear, since the failure code clears it as well.
// api: libpq
// expect: moves
#include <stddef.h>

#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *res = NULL;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = NULL;
    res = PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = NULL;
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
