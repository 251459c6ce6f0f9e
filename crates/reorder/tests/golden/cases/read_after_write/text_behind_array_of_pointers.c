// The array leads to `text`, which the query writes behind the array's initialization.
// api: libpq
// isolation: serializable
// expect: unchanged
#include <stdio.h>

#include <libpq-fe.h>

void pay(PGconn *conn)
{
    char text[32] = "";
    const char *values[1] = {text};
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "SELECT r_name FROM region WHERE r_id = 1 FOR UPDATE");
    snprintf(text, sizeof text, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);
    PQclear(PQexecParams(conn, "UPDATE customer SET c_name = $1 WHERE c_id = 2", 1, NULL, values,
                         NULL, NULL, 0));
    PQclear(PQexec(conn, "COMMIT"));
}
