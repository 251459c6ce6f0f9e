// The string is the begin of the text, or some repeated characters.
// api: libpq
// expect: unchanged
// keeps: barrier, a form of a call
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn, int size)
{
    PQclear(PQexec(conn, "BEGIN"));
    std::string sql("UPDATE region SET r_total = 0 WHERE r_id = 100", size);
    PQclear(PQexec(conn, sql.c_str()));
    std::string other("UPDATE customer SET c_visits = 1");
    PQclear(PQexec(conn, other.c_str()));
    PQclear(PQexec(conn, "COMMIT"));
}
