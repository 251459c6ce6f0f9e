// The array of pointers is filled element by element; an element leads to the first result.
// api: libpq
// isolation: serializable
// expect: unchanged
#include <libpq-fe.h>

void pay(PGconn *conn)
{
    const char *values[1];
    PGresult *res, *other;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "SELECT r_name FROM region WHERE r_id = 1 FOR UPDATE");
    values[0] = PQgetvalue(res, 0, 0);
    other = PQexecParams(conn, "UPDATE customer SET c_name = $1 WHERE c_id = 2", 1, NULL, values,
                         NULL, NULL, 0);
    PQclear(other);
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
}
