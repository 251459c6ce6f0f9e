// The value is asked for null before it is read.
// api: libpq
// isolation: serializable
// expect: moves
#include <stdlib.h>

#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *res;
    int balance = 0;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "SELECT sum(c_balance) FROM customer");
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    if (!PQgetisnull(res, 0, 0))
        balance = atoi(PQgetvalue(res, 0, 0));
    PQclear(res);
    res = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return balance;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
