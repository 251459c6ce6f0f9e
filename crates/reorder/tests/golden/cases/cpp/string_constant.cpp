// api: libpq
// expect: moves
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    const std::string region = "UPDATE region SET r_total = r_total + 1";
    PQclear(PQexec(conn, region.c_str()));
    PQclear(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"));
    PQclear(PQexec(conn, "COMMIT"));
}
