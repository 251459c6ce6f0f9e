// The variable gets another result, whose query the check behind it is for.
// api: libpq
// expect: unchanged
// keeps: barrier, `region`, a `std::unique_ptr`: line 19 uses it other than by `get()`
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
    region.reset(PQexec(conn, "UPDATE item SET i_stock = 1 WHERE i_id = 3"));
    Result customer(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"), PQclear);
    if (PQresultStatus(customer.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -2;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
