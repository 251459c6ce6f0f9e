// Each unit sets the pointer back; only by the exits does a result come to the cleanup behind the
// commit.
// api: libpq
// expect: moves
#include <stdio.h>

#include <libpq-fe.h>

int pay(PGconn *conn, int shop, int customer)
{
    PGresult *res = NULL;
    char sql[100];
    int status = -1;

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto out;
    PQclear(res);
    res = NULL;
    snprintf(sql, sizeof sql, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = %d", shop);
    res = PQexec(conn, sql);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto undo;
    PQclear(res);
    res = NULL;
    snprintf(sql, sizeof sql, "INSERT INTO sale VALUES (%d, %d)", shop, customer);
    res = PQexec(conn, sql);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto undo;
    PQclear(res);
    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) == PGRES_COMMAND_OK)
        status = 0;
    goto out;
undo:
    PQclear(res);
    res = PQexec(conn, "ROLLBACK");
out:
    PQclear(res);
    return status;
}
