// The exit without a row leaves the code 0: the transaction stays open.
// api: libpq
// function: pay
// expect: unchanged
// keeps: barrier, it leaves without a rollback
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
    PGresult *res;
    int rc = -1;

    if (run(conn, "BEGIN"))
        return -1;
    if (run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto out;
    res = PQexec(conn, "SELECT c_visits FROM customer WHERE c_id = 2");
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1) {
        PQclear(res);
        rc = 0;
        goto out;
    }
    PQclear(res);
    if (run(conn, "INSERT INTO sale VALUES (1, 2, 3, 'x')"))
        goto out;
    rc = run(conn, "COMMIT");
out:
    if (rc != 0)
        run(conn, "ROLLBACK");
    return rc;
}
