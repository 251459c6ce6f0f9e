// The macro runs a query and leaves if it fails.
// api: libpq
// expect: moves
#include <libpq-fe.h>

#define RUN(sql)                                                                                   \
    do {                                                                                           \
        res = PQexec(conn, sql);                                                                   \
        if (PQresultStatus(res) != PGRES_COMMAND_OK)                                               \
            goto fail;                                                                             \
        PQclear(res);                                                                              \
    } while (0)

int pay(PGconn *conn)
{
    PGresult *res;

    RUN("BEGIN");
    RUN("UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    RUN("UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    RUN("COMMIT");
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
