// A function with a format and its values runs the queries.
// api: libpq
// expect: refused, no transaction found
#include <stdarg.h>
#include <stdio.h>
#include <libpq-fe.h>

static int run(PGconn *conn, const char *format, ...)
{
    char sql[512];
    va_list values;
    PGresult *res;
    int ok;

    va_start(values, format);
    vsnprintf(sql, sizeof sql, format, values);
    va_end(values);
    res = PQexec(conn, sql);
    ok = PQresultStatus(res) == PGRES_COMMAND_OK;
    PQclear(res);
    return ok ? 0 : -1;
}

int pay(PGconn *conn, int region, int customer, int item)
{
    if (run(conn, "BEGIN") != 0)
        return -1;
    if (run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", region) != 0)
        goto fail;
    if (run(conn, "INSERT INTO sale VALUES (%d, %d, 1, 'x')", item, customer) != 0)
        goto fail;
    if (run(conn, "COMMIT") != 0)
        goto fail;
    return 0;
fail:
    run(conn, "ROLLBACK");
    return -1;
}
