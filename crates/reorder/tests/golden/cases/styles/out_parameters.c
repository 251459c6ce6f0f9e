// Functions return a status and what they found through pointers of the caller.
// api: libpq
// relaxed reads: yes
// expect: moves
#include <stdio.h>
#include <stdlib.h>
#include <libpq-fe.h>

static int execute(PGconn *conn, const char *sql, int id)
{
    char text[12];
    const char *values[1] = { text };
    PGresult *res;
    int status = -1;

    snprintf(text, sizeof text, "%d", id);
    res = PQexecParams(conn, sql, 1, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(res) == PGRES_COMMAND_OK)
        status = 0;
    PQclear(res);
    return status;
}

static int select_int(PGconn *conn, const char *sql, int id, int *found)
{
    char text[12];
    const char *values[1] = { text };
    PGresult *res;

    snprintf(text, sizeof text, "%d", id);
    res = PQexecParams(conn, sql, 1, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) == 0) {
        PQclear(res);
        return -1;
    }
    *found = atoi(PQgetvalue(res, 0, 0));
    PQclear(res);
    return 0;
}

int pay(PGconn *conn, int region, int customer, int *visits)
{
    if (execute(conn, "BEGIN", 0) != 0)
        return -1;
    if (execute(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", region) != 0)
        goto fail;
    if (select_int(conn, "SELECT c_visits FROM customer WHERE c_id = $1", customer, visits) != 0)
        goto fail;
    if (execute(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = $1", customer) != 0)
        goto fail;
    if (execute(conn, "COMMIT", 0) != 0)
        goto fail;
    return 0;
fail:
    execute(conn, "ROLLBACK", 0);
    return -1;
}
