// On PostgreSQL the failure of the first update makes the second one fail, whose check reports it.
// Behind the check nobody would notice: COMMIT of a failed transaction succeeds, and rolls back.
// api: libpq
// expect: unchanged
#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    res = PQexec(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        PQclear(res);
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    PQclear(res);
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
