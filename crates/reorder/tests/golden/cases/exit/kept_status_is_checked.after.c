// The condition behind each query checks it, by the status that the program has kept. No other
// code reads the status of a query that has succeeded.
// api: libpq
// function: pay
// expect: moves
#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int ok = PQresultStatus(res) == PGRES_COMMAND_OK;

    PQclear(res);
    return ok ? 0 : -1;
}

int pay(PGconn *conn)
{
    int rc;

    if (run(conn, "BEGIN"))
        return -1;
    rc = run(conn, "INSERT INTO sale VALUES (1, 2, 3, 'x')");
    if (rc)
        goto fail;
    rc = run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc)
        goto fail;
    return run(conn, "COMMIT");
fail:
    run(conn, "ROLLBACK");
    return rc;
}
