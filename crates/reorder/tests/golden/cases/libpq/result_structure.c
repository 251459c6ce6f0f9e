// The results stand in fields of a structure.
// api: libpq
// isolation: serializable
// expect: moves
#include <stdlib.h>

#include <libpq-fe.h>

struct results {
    PGresult *region, *customer;
};

int pay(PGconn *conn)
{
    struct results all;
    int sum;

    PQclear(PQexec(conn, "BEGIN"));
    all.region = PQexec(conn, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    all.customer = PQexec(conn, "SELECT c_balance FROM customer WHERE c_id = 2");
    PQclear(PQexec(conn, "COMMIT"));
    sum = atoi(PQgetvalue(all.region, 0, 0)) + atoi(PQgetvalue(all.customer, 0, 0));
    PQclear(all.region);
    PQclear(all.customer);
    return sum;
}
