// The deleter also counts the results; the end of the scope has an effect of its own.
// api: libpq
// expect: unchanged
// keeps: barrier, `region`, a `std::unique_ptr`: the function with which its deleter `Clear` ends
#include <memory>

#include <libpq-fe.h>

int cleared;

struct Clear {
    void operator()(PGresult *result) const
    {
        cleared++;
        PQclear(result);
    }
};

using Result = std::unique_ptr<PGresult, Clear>;

int pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    Result region(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    if (PQresultStatus(region.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    Result customer(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"));
    if (PQresultStatus(customer.get()) != PGRES_COMMAND_OK) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -2;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
