// The query runs the text as it is behind the comma.
// api: libpq
// expect: unchanged
// keeps: barrier, no known source
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    std::string sql = "UPDATE customer SET c_visits = (SELECT max(c_id) FROM customer)";
    PQclear(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    PQclear((sql = "UPDATE region SET r_total = 0", PQexec(conn, sql.c_str())));
    PQclear(PQexec(conn, "COMMIT"));
}
