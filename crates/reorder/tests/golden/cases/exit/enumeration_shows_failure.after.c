// The helper returns an enumerator that tells whether its query has failed, and the condition
// behind each query leaves then.
// api: libpq
// function: pay
// expect: moves
#include <libpq-fe.h>

enum status { DONE, FAILED = 7 };

static enum status run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    enum status status = PQresultStatus(res) == PGRES_COMMAND_OK ? DONE : FAILED;

    PQclear(res);
    return status;
}

int pay(PGconn *conn)
{
    enum status status;

    if (run(conn, "BEGIN") != DONE)
        return -1;
    status = run(conn, "INSERT INTO sale VALUES (1, 2, 3, 'x')");
    if (status == FAILED)
        goto fail;
    status = run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (status != DONE)
        goto fail;
    if (run(conn, "COMMIT") == DONE)
        return 0;
    return -1;
fail:
    run(conn, "ROLLBACK");
    return -1;
}
