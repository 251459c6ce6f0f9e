// The calls do not wait for the server: the message names the first one.
// api: libpq
// expect: refused, line 12: `PQsendQuery(conn, "BEGIN")` does not wait for the result
#include <libpq-fe.h>

static void drain(PGconn *conn)
{
    for (PGresult *res; (res = PQgetResult(conn)) != NULL; PQclear(res)) {}
}
int pay(PGconn *conn)
{
    if (!PQsendQuery(conn, "BEGIN"))
        return -1;
    drain(conn);
    PQsendQuery(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    drain(conn);
    PQsendQuery(conn, "COMMIT");
    drain(conn);
    return 0;
}
