// The name is copied; the first result may be read and freed behind the update of the customer.
// api: libpq
// isolation: serializable
// expect: moves
#include <stdio.h>

#include <libpq-fe.h>

int pay(PGconn *conn, char name[30])
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexec(conn, "SELECT r_name FROM region WHERE r_id = 1 FOR UPDATE");
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    snprintf(name, 30, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
