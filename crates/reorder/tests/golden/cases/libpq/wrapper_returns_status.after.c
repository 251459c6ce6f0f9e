// The wrapper returns 0 or 1, and is asked with `!`.
// api: libpq
// function: pay
// expect: moves
#include <libpq-fe.h>

static int succeeds(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int ok = PQresultStatus(res) == PGRES_COMMAND_OK;

    PQclear(res);
    return ok;
}

int pay(PGconn *conn)
{
    if (!succeeds(conn, "BEGIN"))
        return -1;
    if (!succeeds(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
        goto fail;
    if (!succeeds(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (!succeeds(conn, "COMMIT"))
        goto fail;
    return 0;
fail:
    succeeds(conn, "ROLLBACK");
    return -1;
}
