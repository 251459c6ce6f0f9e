// The helper returns -1 if its query fails, and the condition leaves then: the query is checked.
// api: libpq
// function: pay
// expect: moves
#include <stdlib.h>

#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int ok = PQresultStatus(res) == PGRES_COMMAND_OK;

    PQclear(res);
    return ok ? 0 : -1;
}

static int visits(PGconn *conn)
{
    int visits = -1;
    PGresult *res = PQexec(conn, "SELECT c_visits FROM customer WHERE c_id = 2");

    if (PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) == 1)
        visits = atoi(PQgetvalue(res, 0, 0));
    PQclear(res);
    return visits;
}

int pay(PGconn *conn)
{
    int number;

    if (run(conn, "BEGIN"))
        return -1;
    if (run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    number = visits(conn);
    if (number < 0)
        goto fail;
    return run(conn, "COMMIT");
fail:
    run(conn, "ROLLBACK");
    return -2;
}
