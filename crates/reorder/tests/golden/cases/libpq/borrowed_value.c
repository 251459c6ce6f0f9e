// `name` is borrowed from the first result, which is freed behind the second query.
// api: libpq
// isolation: serializable
// expect: unchanged
#include <libpq-fe.h>

void pay(PGconn *conn)
{
    PGresult *res;
    const char *name;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "SELECT r_name FROM region WHERE r_id = 1 FOR UPDATE");
    name = PQgetvalue(res, 0, 0);
    PQclear(PQexecParams(conn, "UPDATE customer SET c_name = $1 WHERE c_id = 2", 1, NULL, &name,
                         NULL, NULL, 0));
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
}
