// Both results live until the end.
// api: libpq
// isolation: serializable
// expect: moves
#include <stdlib.h>

#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *total, *balance;
    int sum;

    PQclear(PQexec(conn, "BEGIN"));
    total = PQexec(conn, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    balance = PQexec(conn, "SELECT c_balance FROM customer WHERE c_id = 2");
    PQclear(PQexec(conn, "COMMIT"));
    sum = atoi(PQgetvalue(total, 0, 0)) + atoi(PQgetvalue(balance, 0, 0));
    PQclear(total);
    PQclear(balance);
    return sum;
}
