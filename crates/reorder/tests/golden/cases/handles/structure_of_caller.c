// The connection and the name are in a structure of the caller.
// api: libpq
// expect: moves
#include <stdio.h>
#include <stdlib.h>
#include <libpq-fe.h>

struct application {
    PGconn *conn;
    const char *tenant;
    int balance;
};

int pay(struct application *app, int region, int customer)
{
    char id[12];
    const char *values[1] = { id };
    PGresult *res;

    PQclear(PQexec(app->conn, "BEGIN"));
    snprintf(id, sizeof id, "%d", region);
    res = PQexecParams(app->conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", 1,
                       NULL, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    snprintf(id, sizeof id, "%d", customer);
    res = PQexecParams(app->conn, "SELECT c_balance FROM customer WHERE c_id = $1", 1, NULL,
                       values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) == 0)
        goto fail;
    app->balance = atoi(PQgetvalue(res, 0, 0));
    PQclear(res);

    PQclear(PQexec(app->conn, "COMMIT"));
    return 0;
fail:
    fprintf(stderr, "%s: %s", app->tenant, PQerrorMessage(app->conn));
    PQclear(res);
    PQclear(PQexec(app->conn, "ROLLBACK"));
    return -1;
}
