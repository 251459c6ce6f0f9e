// The array of parameters and the buffer behind it hold the values of the third query too.
// renames: yes
// expect: moves
// api: libpq
#include <stdio.h>

#include <libpq-fe.h>

int pay(PGconn *conn, int region, int customer)
{
    char number[12];
    const char *params[1];
    PGresult *res;

    res = PQexec(conn, "BEGIN ISOLATION LEVEL SERIALIZABLE");
    PQclear(res);
    snprintf(number, sizeof number, "%d", region);
    params[0] = number;
    res = PQexecParams(conn, "UPDATE customer SET c_visits = $1 WHERE c_id = 1", 1, NULL, params,
                       NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexecParams(conn, "UPDATE region SET r_total = 1 WHERE r_id = $1", 1, NULL, params,
                       NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    snprintf(number, sizeof number, "%d", customer);
    params[0] = number;
    res = PQexecParams(conn, "UPDATE customer SET c_balance = 1 WHERE c_id = $1", 1, NULL, params,
                       NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexec(conn, "COMMIT");
    PQclear(res);
    return 0;

fail:
    PQclear(res);
    res = PQexec(conn, "ROLLBACK");
    PQclear(res);
    return -1;
}
