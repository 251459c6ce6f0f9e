// The seat may be taken: the program reports that, and not that the insert of the booking fails.
// api: libpq
// isolation: serializable
// schema: CREATE TABLE seat (s_id INTEGER PRIMARY KEY, s_taken INTEGER NOT NULL);
// schema: CREATE TABLE booking (b_seat INTEGER PRIMARY KEY REFERENCES seat, b_name TEXT);
// expect: unchanged
// keeps: exit, what a query returned
#include <stdlib.h>

#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *res;
    int taken;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "SELECT s_taken FROM seat WHERE s_id = 1");
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    taken = atoi(PQgetvalue(res, 0, 0));
    PQclear(res);
    PQclear(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    if (taken) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return 1;
    }
    res = PQexec(conn, "INSERT INTO booking VALUES (1, 'x')");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
