// The helper returns -1 after a failure, so that the condition does not check the first query: the
// check of the second one finds its failure.
// api: libpq
// function: pay
// expect: unchanged
// keeps: exit, a query without a check
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
    rc = run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc > 0)
        goto fail;
    rc = run(conn, "INSERT INTO sale VALUES (1, 2, 3, 'x')");
    if (rc)
        goto fail;
    return run(conn, "COMMIT");
fail:
    run(conn, "ROLLBACK");
    return -1;
}
