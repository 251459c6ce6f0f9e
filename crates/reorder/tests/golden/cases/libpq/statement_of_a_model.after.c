// The file prepares neither statement: the model names their SQL.
// api: libpq
// statement: grow_region = UPDATE region SET r_total = r_total + 1 WHERE r_id = 1
// statement: visit_customer = UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2
// expect: moves
#include <stddef.h>

#include <libpq-fe.h>

void pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexecPrepared(conn, "visit_customer", 0, NULL, NULL, NULL, 0));
    PQclear(PQexecPrepared(conn, "grow_region", 0, NULL, NULL, NULL, 0));
    PQclear(PQexec(conn, "COMMIT"));
}
