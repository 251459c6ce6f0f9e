// The status is kept in a variable, since the result is cleared before the test.
// api: libpq
// function: pay
// expect: moves
#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);

    PQclear(result);
    if (status != PGRES_COMMAND_OK)
        return -1;
    return 0;
}

int pay(PGconn *conn)
{
    if (run(conn, "BEGIN"))
        return -1;
    if (run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (run(conn, "INSERT INTO item VALUES (3, 4, 'new', 5, 6)"))
        goto fail;
    return run(conn, "COMMIT");
fail:
    run(conn, "ROLLBACK");
    return -1;
}
