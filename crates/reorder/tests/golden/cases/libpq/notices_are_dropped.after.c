// The function does nothing with the notices.
// api: libpq
// expect: moves
#include <libpq-fe.h>

static void on_notice(void *to, const char *message)
{
    (void)to;
    (void)message;
}

void watch(PGconn *conn)
{
    PQsetNoticeProcessor(conn, on_notice, NULL);
}

int pay(PGconn *conn)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
