// A loop appends an unknown number of texts.
// api: libpq
// expect: unchanged
// keeps: barrier, depends on itself
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn, int count)
{
    PQclear(PQexec(conn, "BEGIN"));
    std::string sql = "UPDATE region SET r_total = r_total";
    for (int i = 0; i < count; i++)
        sql += " + 1";
    PQclear(PQexec(conn, sql.c_str()));
    PQclear(PQexec(conn, "UPDATE customer SET c_visits = 1"));
    PQclear(PQexec(conn, "COMMIT"));
}
