// The variable owns a result that other code knows and has used before.
// api: libpq
// expect: unchanged
// keeps: barrier, `region`, a `std::unique_ptr`: it is not constructed from the call that makes
#include <memory>

#include <libpq-fe.h>

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

int pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    PGresult *known = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    Result region(known, PQclear);
    if (PQresultStatus(region.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    Result customer(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"), PQclear);
    if (PQresultStatus(customer.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -2;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
