// Nobody checks the update of the customer. If it failed before the query, PostgreSQL would refuse
// the query, and the program would copy from a null pointer.
// api: libpq
// isolation: serializable
// expect: unchanged
// keeps: exit, later code sees
#include <stdio.h>

#include <libpq-fe.h>

void pay(PGconn *conn, char name[30])
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "SELECT r_name FROM region WHERE r_id = 1 FOR UPDATE");
    snprintf(name, 30, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);
    PQclear(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"));
    PQclear(PQexec(conn, "COMMIT"));
}
