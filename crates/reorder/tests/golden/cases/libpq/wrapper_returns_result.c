// The wrapper returns the result, or NULL if the query fails.
// api: libpq
// function: pay
// isolation: serializable
// expect: not yet, the result of the helper is memory that is not known
#include <stdlib.h>

#include <libpq-fe.h>

static PGresult *rows(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);

    if (PQresultStatus(res) != PGRES_TUPLES_OK) {
        PQclear(res);
        return NULL;
    }
    return res;
}

int pay(PGconn *conn, int *total, int *balance)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = rows(conn, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    if (res == NULL)
        goto fail;
    *total = atoi(PQgetvalue(res, 0, 0));
    PQclear(res);
    res = rows(conn, "SELECT c_balance FROM customer WHERE c_id = 2");
    if (res == NULL)
        goto fail;
    *balance = atoi(PQgetvalue(res, 0, 0));
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
