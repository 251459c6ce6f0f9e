// The queries stand in a `do … while (0)`; a `break` leads to the rollback, since `rc` is then -1.
// api: libpq
// function: pay
// expect: moves
#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int good = PQresultStatus(res) == PGRES_COMMAND_OK;

    PQclear(res);
    return good ? 0 : -1;
}

int pay(PGconn *conn)
{
    int rc = -1;

    if (run(conn, "BEGIN"))
        return -1;
    do {
        if (run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
            break;
        if (run(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
            break;
        rc = 0;
    } while (0);
    if (rc == 0)
        return run(conn, "COMMIT");
    run(conn, "ROLLBACK");
    return rc;
}
