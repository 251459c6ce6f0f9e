// The statement `customer` is prepared in no function of the file.
// api: libpq
// expect: unchanged
// keeps: barrier, customer
#include <libpq-fe.h>

void pay(PGconn *conn, const char *region, const char *customer)
{
    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexecParams(conn, "UPDATE region SET r_total = 1 WHERE r_id = $1", 1, NULL, &region,
                         NULL, NULL, 0));
    PQclear(PQexecPrepared(conn, "customer", 1, &customer, NULL, NULL, 0));
    PQclear(PQexec(conn, "COMMIT"));
}
