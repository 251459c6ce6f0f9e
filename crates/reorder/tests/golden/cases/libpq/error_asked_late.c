// The message is that of the second update, which is the last before the question, and is asked
// behind a check of the first result.
// api: libpq
// expect: unchanged
#include <stdio.h>

#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *first, *second;

    PQclear(PQexec(conn, "BEGIN"));
    first = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    second = PQexec(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (PQresultStatus(first) != PGRES_COMMAND_OK || PQresultStatus(second) != PGRES_COMMAND_OK) {
        fprintf(stderr, "%s", PQerrorMessage(conn));
        PQclear(first);
        PQclear(second);
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    PQclear(first);
    PQclear(second);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
