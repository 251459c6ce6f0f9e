// One string for both queries.
// api: libpq
// expect: moves
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn, int amount)
{
    std::string sql;

    PQclear(PQexec(conn, "BEGIN"));
    sql = "UPDATE region SET r_total = r_total + " + std::to_string(amount);
    PQclear(PQexec(conn, sql.c_str()));
    sql = "UPDATE customer SET c_visits = " + std::to_string(amount);
    PQclear(PQexec(conn, sql.c_str()));
    PQclear(PQexec(conn, "COMMIT"));
}
