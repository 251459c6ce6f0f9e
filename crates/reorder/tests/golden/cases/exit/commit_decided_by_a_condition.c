// The transaction is found, though its last statement may commit or roll back. The statuses of both
// updates decide which of them, and the later one stays the one that is reported.
// api: libpq
// expect: unchanged
// keeps: write after write, both write `status`
#include <stdio.h>

#include <libpq-fe.h>

int pay(PGconn *conn)
{
    int status = 0;
    PGresult *result;

    PQclear(PQexec(conn, "BEGIN"));
    result = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        status = -1;
    PQclear(result);
    result = PQexec(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        status = -2;
    PQclear(result);
    PQclear(PQexec(conn, status ? "ROLLBACK" : "COMMIT"));
    return status;
}
