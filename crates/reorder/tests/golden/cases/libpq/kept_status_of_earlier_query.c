// The kept status is that of the query before the last: the test shows what that one has done.
// api: libpq
// function: pay
// expect: unchanged
#include <libpq-fe.h>

static int run_both(PGconn *conn, const char *sql, const char *other)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);

    PQclear(result);
    result = PQexec(conn, other);
    PQclear(result);
    if (status != PGRES_COMMAND_OK)
        return -1;
    return 0;
}

int pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    if (run_both(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1",
                 "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1"))
        goto fail;
    if (run_both(conn, "INSERT INTO item VALUES (3, 4, 'new', 5, 6)",
                 "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
