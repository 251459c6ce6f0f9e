// Each status is kept, and shows whether the query before has failed as well.
// api: libpq
// expect: unchanged
// keeps: exit, later code sees
#include <libpq-fe.h>

static int ok(PGresult *res)
{
    int is_ok = PQresultStatus(res) == PGRES_COMMAND_OK;

    PQclear(res);
    return is_ok;
}

int pay(PGconn *conn)
{
    int one, other;

    PQclear(PQexec(conn, "BEGIN"));
    one = ok(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    other = ok(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"));
    PQclear(PQexec(conn, "COMMIT"));
    return one * 2 + other;
}
