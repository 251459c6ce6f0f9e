// The function may print the error of the update of the customer, which nothing checks.
// api: libpq
// expect: unchanged
// keeps: exit, later code sees that a query without a check has failed
#include <libpq-fe.h>

void note(PGconn *db);

int pay(PGconn *db)
{
    PQclear(PQexec(db, "BEGIN"));
    PQclear(PQexec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    PQclear(PQexec(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"));
    note(db);
    PQclear(PQexec(db, "COMMIT"));
    return 0;
}
