// The code behind each exit clears the result, which is null before its query has made it.
// api: libpq
// relaxed reads: yes
// expect: moves
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int ok = PQresultStatus(res) == PGRES_COMMAND_OK;
    PQclear(res);
    return ok;
}

int pay(PGconn *conn)
{
    PGresult *r = NULL;
    char sql[100];

    PQclear(PQexec(conn, "BEGIN"));
    r = PQexec(conn, "SELECT i_price FROM item WHERE i_id = 1");
    if (PQresultStatus(r) != PGRES_TUPLES_OK)
        goto fail;
    snprintf(sql, sizeof sql, "UPDATE customer SET c_balance = c_balance - %d WHERE c_id = 1",
             atoi(PQgetvalue(r, 0, 0)));
    if (!run(conn, sql))
        goto fail;
    if (!run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    PQclear(PQexec(conn, "COMMIT"));
    PQclear(r);
    return 0;
fail:
    PQclear(r);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
