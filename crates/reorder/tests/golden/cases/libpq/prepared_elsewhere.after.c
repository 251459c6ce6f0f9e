// The statements are prepared by another function of the file.
// api: libpq
// function: pay
// expect: moves
#include <libpq-fe.h>

void prepare(PGconn *conn)
{
    PQclear(PQprepare(conn, "region", "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1",
                      1, NULL));
    PQclear(PQprepare(conn, "customer", "UPDATE customer SET c_visits = 1 WHERE c_id = $1", 1,
                      NULL));
}

int pay(PGconn *conn, const char *region, const char *customer)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexecPrepared(conn, "customer", 1, &customer, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexecPrepared(conn, "region", 1, &region, NULL, NULL, 0);
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
