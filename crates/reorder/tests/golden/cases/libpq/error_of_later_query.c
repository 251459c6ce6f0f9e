// If the region's update fails, so does the customer's, and the message says so: with the region
// last it would be empty.
// api: libpq
// expect: unchanged
// keeps: exit, later code sees that a query without a check has failed
#include <stdio.h>

#include <libpq-fe.h>

void pay(PGconn *conn)
{
    char message[200];

    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    PQclear(PQexec(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"));
    snprintf(message, sizeof message, "%s", PQerrorMessage(conn));
    PQclear(PQexec(conn, "COMMIT"));
    puts(message);
}
