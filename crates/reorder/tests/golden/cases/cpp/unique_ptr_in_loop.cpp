// The result of each iteration is cleared where the iteration ends: the loop is not split between
// the query and the use of its row.
// api: libpq
// splits: yes
// expect: unchanged
#include <cstdlib>
#include <memory>

#include <libpq-fe.h>

struct Clear {
    void operator()(PGresult *result) const { PQclear(result); }
};

int pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    for (int i = 0; i < 9; i++) {
        std::unique_ptr<PGresult, Clear> region(
            PQexec(conn, "UPDATE region SET r_total = 1 WHERE r_id = 1 RETURNING r_total"));
        if (PQresultStatus(region.get()) != PGRES_TUPLES_OK) {
            PQclear(PQexec(conn, "ROLLBACK"));
            return -1;
        }
        std::unique_ptr<PGresult, Clear> customer(
            PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"));
        if (PQresultStatus(customer.get()) != PGRES_COMMAND_OK || PQntuples(region.get()) != 1) {
            PQclear(PQexec(conn, "ROLLBACK"));
            return -2;
        }
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
