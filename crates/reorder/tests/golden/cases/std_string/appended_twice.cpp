// Two calls of one statement append; their order is not followed.
// api: libpq
// expect: unchanged
// keeps: barrier, no known source
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    std::string sql = "UPDATE region SET r_total";
    sql += " = r_total", sql += " + 1";
    PQclear(PQexec(conn, sql.c_str()));
    PQclear(PQexec(conn, "UPDATE customer SET c_visits = 1"));
    PQclear(PQexec(conn, "COMMIT"));
}
