// The SQL is built with std::string.
// api: libpq
// expect: moves
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn, int amount)
{
    PQclear(PQexec(conn, "BEGIN"));
    std::string sql = "UPDATE region SET r_total = r_total + " + std::to_string(amount);
    std::string other = "UPDATE customer SET c_visits = " + std::to_string(amount);
    PQclear(PQexec(conn, other.c_str()));
    PQclear(PQexec(conn, sql.c_str()));
    PQclear(PQexec(conn, "COMMIT"));
}
