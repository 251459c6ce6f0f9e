// At serializable it is as if both were read at one time.
// api: libpq
// isolation: serializable
// expect: moves
#include <string.h>

#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK || strcmp(PQcmdTuples(res), "1") != 0)
        goto fail;
    PQclear(res);
    res = PQexec(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (PQresultStatus(res) != PGRES_COMMAND_OK || strcmp(PQcmdTuples(res), "1") != 0)
        goto fail;
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
