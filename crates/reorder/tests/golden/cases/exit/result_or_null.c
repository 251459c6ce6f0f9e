// The helper returns a null pointer for a query that has failed.
// api: libpq
// function: pay
// expect: moves
#include <libpq-fe.h>

static PGresult *run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);

    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        PQclear(res);
        return NULL;
    }
    return res;
}

static int checked(PGconn *conn, const char *sql)
{
    PGresult *res = run(conn, sql);

    if (!res)
        return -1;
    PQclear(res);
    return 0;
}

int pay(PGconn *conn)
{
    if (checked(conn, "BEGIN") != 0)
        return -1;
    if (checked(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != 0)
        goto fail;
    if (checked(conn, "INSERT INTO sale VALUES (1, 2, 3, 'x')") != 0)
        goto fail;
    if (checked(conn, "COMMIT") != 0)
        return -1;
    return 0;
fail:
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
