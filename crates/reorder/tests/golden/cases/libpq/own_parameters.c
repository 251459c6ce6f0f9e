// The array of parameters is filled whole for each query.
// api: libpq
// expect: moves
#include <libpq-fe.h>

int pay(PGconn *conn, const char *region, const char *customer, const char *amount)
{
    const char *values[2];
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    values[0] = amount;
    values[1] = region;
    res = PQexecParams(conn, "UPDATE region SET r_total = r_total + $1 WHERE r_id = $2", 2, NULL,
                       values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    values[0] = amount;
    values[1] = customer;
    res = PQexecParams(conn, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", 2,
                       NULL, values, NULL, NULL, 0);
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
