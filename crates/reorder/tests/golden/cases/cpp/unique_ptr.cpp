// Each result is cleared where the scope ends, by the function that the constructor gets. That
// needs no place among the queries.
// api: libpq
// expect: moves
#include <memory>

#include <libpq-fe.h>

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

int pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    Result region(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"), PQclear);
    if (PQresultStatus(region.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    Result customer(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"), &PQclear);
    if (!customer || PQresultStatus(customer.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -2;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
