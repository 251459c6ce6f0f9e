// A number that is appended is a character, and may be any.
// api: libpq
// expect: unchanged
// keeps: barrier, a character that is not known
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn, char operation)
{
    PQclear(PQexec(conn, "BEGIN"));
    std::string sql = "UPDATE region SET r_total = r_total ";
    sql += operation;
    sql += " 1";
    PQclear(PQexec(conn, sql.c_str()));
    PQclear(PQexec(conn, "UPDATE customer SET c_visits = 1"));
    PQclear(PQexec(conn, "COMMIT"));
}
