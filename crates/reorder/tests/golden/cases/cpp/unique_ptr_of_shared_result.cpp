// A function may return a result that it has made before.
// api: libpq
// expect: unchanged
// keeps: barrier, it is not known that a new object is made for the `std::unique_ptr`
#include <memory>

#include <libpq-fe.h>

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;

PGresult *last;

static PGresult *run(PGconn *conn, const char *sql)
{
    if (!last)
        last = PQexec(conn, sql);
    return last;
}

int pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    Result region(run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"), PQclear);
    if (PQresultStatus(region.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    Result customer(run(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"), PQclear);
    if (PQresultStatus(customer.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -2;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
