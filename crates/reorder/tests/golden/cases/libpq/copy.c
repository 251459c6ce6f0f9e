// COPY changes the state of the connection.
// api: libpq
// expect: unchanged
// keeps: barrier
#include <libpq-fe.h>

void load(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    PQclear(PQexec(conn, "COPY sale FROM STDIN"));
    PQputCopyData(conn, "1\t2\t3\t\\N\n", 9);
    PQputCopyEnd(conn, NULL);
    PQclear(PQgetResult(conn));
    PQclear(PQexec(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"));
    PQclear(PQexec(conn, "COMMIT"));
}
