// A function of the file may store another connection in the structure of the caller.
// api: libpq
// expect: unchanged
#include <libpq-fe.h>

struct application {
    PGconn *conn;
    PGconn *spare;
};

static void fail_over(struct application *app)
{
    app->conn = app->spare;
}

int pay(struct application *app)
{
    PGresult *res;

    PQclear(PQexec(app->conn, "BEGIN"));
    res = PQexec(app->conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        fail_over(app);
    PQclear(res);
    res = PQexec(app->conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 1");
    PQclear(res);
    PQclear(PQexec(app->conn, "COMMIT"));
    return 0;
}
