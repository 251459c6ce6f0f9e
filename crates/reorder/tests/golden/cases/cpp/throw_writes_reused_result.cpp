// The result that the barrier stores before it leaves no later statement sees.
// api: libpq
// expect: moves
#include <libpq-fe.h>

#include <stdexcept>

void pay(PGconn *conn)
{
    PGresult *r = PQexec(conn, "BEGIN");
    PQclear(r);
    r = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(r) != PGRES_COMMAND_OK) {
        PQclear(r);
        r = PQexec(conn, "ROLLBACK");
        PQclear(r);
        throw std::runtime_error("region");
    }
    PQclear(r);
    r = PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    if (PQresultStatus(r) != PGRES_COMMAND_OK) {
        PQclear(r);
        r = PQexec(conn, "ROLLBACK");
        PQclear(r);
        throw std::runtime_error("customer");
    }
    PQclear(r);
    r = PQexec(conn, "COMMIT");
    PQclear(r);
}
