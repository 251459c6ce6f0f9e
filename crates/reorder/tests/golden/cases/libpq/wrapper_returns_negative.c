// The wrapper returns -1 if the query fails, and is asked with `< 0`.
// api: libpq
// function: pay
// expect: moves
#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);

    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        PQclear(res);
        return -1;
    }
    PQclear(res);
    return 0;
}

int pay(PGconn *conn)
{
    if (run(conn, "BEGIN") < 0)
        return -1;
    if (run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") < 0)
        goto fail;
    if (run(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2") < 0)
        goto fail;
    if (run(conn, "COMMIT") < 0)
        goto fail;
    return 0;
fail:
    run(conn, "ROLLBACK");
    return -1;
}
