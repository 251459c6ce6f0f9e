// While the result is there, an exit that does not clear it would lose it: the update goes behind
// the clear.
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
    PGresult *r;
    char sql[100];

    PQclear(PQexec(conn, "BEGIN"));
    r = PQexec(conn, "SELECT i_price FROM item WHERE i_id = 1");
    if (PQresultStatus(r) != PGRES_TUPLES_OK) {
        PQclear(r);
        goto fail;
    }
    snprintf(sql, sizeof sql, "UPDATE customer SET c_balance = c_balance - %d WHERE c_id = 1",
             atoi(PQgetvalue(r, 0, 0)));
    if (!run(conn, sql)) {
        PQclear(r);
        goto fail;
    }
    PQclear(r);
    if (!run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
