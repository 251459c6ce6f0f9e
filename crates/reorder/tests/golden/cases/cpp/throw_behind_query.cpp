// The exception leaves behind the rollback, as a return would.
// api: libpq
// expect: moves
#include <libpq-fe.h>

#include <stdexcept>

void pay(PGconn *conn, int amount)
{
    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    if (amount < 0) {
        PQclear(PQexec(conn, "ROLLBACK"));
        throw std::runtime_error("amount");
    }
    PQclear(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"));
    PQclear(PQexec(conn, "COMMIT"));
}
