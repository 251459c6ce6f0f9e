// The text that the query runs has the table that the call appends.
// api: libpq
// expect: unchanged
// keeps: same table
#include <string>

#include <libpq-fe.h>

void pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    std::string sql = "UPDATE customer SET c_visits = 1";
    PQclear(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    PQclear(PQexec(conn, (sql += " WHERE c_id = (SELECT max(r_total) FROM region)").c_str()));
    PQclear(PQexec(conn, "COMMIT"));
}
