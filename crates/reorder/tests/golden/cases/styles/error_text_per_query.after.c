// Each query prints its own error text on a path that rolls back.
// api: libpq
// expect: moves
#include <stdio.h>
#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "INSERT INTO sale VALUES (1, 2, 1, 'x')");
    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        fprintf(stderr, "sale: %s", PQresultErrorMessage(res));
        PQclear(res);
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    PQclear(res);
    res = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        fprintf(stderr, "region: %s", PQerrorMessage(conn));
        PQclear(res);
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
