// It leaves if the region's update succeeds, and does not roll back: nothing moves across it.
// api: libpq
// expect: unchanged
// keeps: barrier, leaves without a rollback
#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) == PGRES_COMMAND_OK)
        return 1;
    PQclear(res);
    res = PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        return -1;
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
