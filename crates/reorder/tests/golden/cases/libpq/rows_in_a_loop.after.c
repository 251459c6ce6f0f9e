// The rows of the second query are copied in a loop.
// api: libpq
// isolation: serializable
// expect: moves
#include <stdio.h>

#include <libpq-fe.h>

int pay(PGconn *conn, char names[10][30])
{
    PGresult *res;
    int count;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "SELECT c_name FROM customer WHERE c_shop = 2 LIMIT 10");
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    count = PQntuples(res);
    for (int i = 0; i < count; i++)
        snprintf(names[i], sizeof names[i], "%s", PQgetvalue(res, i, 0));
    PQclear(res);
    res = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return count;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
