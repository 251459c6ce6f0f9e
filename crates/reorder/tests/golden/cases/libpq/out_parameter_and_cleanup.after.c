// The name of the region goes to the caller's buffer; all exits clear the result.
// api: libpq
// expect: moves
#include <stdio.h>
#include <libpq-fe.h>

#define RUN(sql, expected)                                                   \
    do {                                                                     \
        res = PQexec(conn, sql);                                             \
        if (PQresultStatus(res) != (expected)) {                             \
            fprintf(stderr, "%s: %s", __func__, PQerrorMessage(conn));       \
            goto cleanup;                                                    \
        }                                                                    \
    } while (0)

int pay(PGconn *conn, int region, int customer, char *name, size_t size)
{
    PGresult *res = NULL;
    char sql[128];
    int rc = -1;

    RUN("BEGIN", PGRES_COMMAND_OK);
    PQclear(res);
    snprintf(sql, sizeof sql, "UPDATE customer SET c_visits = 1 WHERE c_id = %d", customer);
    RUN(sql, PGRES_COMMAND_OK);
    PQclear(res);
    snprintf(sql, sizeof sql,
             "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d RETURNING r_name", region);
    RUN(sql, PGRES_TUPLES_OK);
    snprintf(name, size, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);
    RUN("COMMIT", PGRES_COMMAND_OK);
    rc = 0;
cleanup:
    PQclear(res);
    if (rc != 0)
        PQclear(PQexec(conn, "ROLLBACK"));
    return rc;
}
