// A variable has the name of the method that is called of it.
// api: libpq
// expect: moves
#include <cstdlib>
#include <memory>

#include <libpq-fe.h>

struct Clear {
    void operator()(PGresult *result) const { PQclear(result); }
};

using Result = std::unique_ptr<PGresult, Clear>;

int pay(PGconn *conn, int *balance)
{
    PQclear(PQexec(conn, "BEGIN"));
    const Result customer{PQexec(conn, "SELECT c_balance FROM customer WHERE c_id = 2")};
    if (PQresultStatus(customer.get()) != PGRES_TUPLES_OK || PQntuples(customer.get()) != 1) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -2;
    }
    *balance = std::atoi(PQgetvalue(customer.get(), 0, 0));
    {
        auto get = Result(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
        if (PQresultStatus(get.get()) != PGRES_COMMAND_OK)
            return PQclear(PQexec(conn, "ROLLBACK")), -1;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
