// The copy is freed on each way out: an exit that does not free it stays outside of its life.
// api: libpq
// relaxed reads: yes
// expect: moves
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int ok = PQresultStatus(res) == PGRES_COMMAND_OK;
    PQclear(res);
    return ok;
}

int pay(PGconn *conn, const char *name)
{
    char *copy;
    char sql[100];

    PQclear(PQexec(conn, "BEGIN"));
    copy = strdup(name);
    if (!copy)
        goto fail;
    snprintf(sql, sizeof sql, "UPDATE customer SET c_balance = %zu WHERE c_id = 1", strlen(copy));
    if (!run(conn, sql)) {
        free(copy);
        goto fail;
    }
    free(copy);
    if (!run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
