// The message is that of the customer's query: it stays the last one before it.
// api: libpq
// expect: moves
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
