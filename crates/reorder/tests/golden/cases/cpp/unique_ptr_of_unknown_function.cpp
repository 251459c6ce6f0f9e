// The deleter calls a function that no model describes.
// api: libpq
// expect: unchanged
// keeps: barrier, `discard` is called where the scope ends, and no model describes it
#include <memory>

#include <libpq-fe.h>

void discard(PGresult *result);

using Result = std::unique_ptr<PGresult, decltype(&discard)>;

int pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    Result region(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"), discard);
    if (PQresultStatus(region.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    Result customer(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"), discard);
    if (PQresultStatus(customer.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -2;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
