// The cleanup behind the commit frees the result of the insert: no later query overwrites it.
// api: libpq
// expect: unchanged
// keeps: read after write, `res`
#include <libpq-fe.h>

int pay(PGconn *conn)
{
    PGresult *res = NULL, *end;

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto out;
    PQclear(res);
    res = PQexec(conn, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto undo;
    PQclear(res);
    res = NULL;
    res = PQexec(conn, "INSERT INTO sale VALUES (1, 2)");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto undo;
    end = PQexec(conn, "COMMIT");
    PQclear(end);
    goto out;
undo:
    PQclear(PQexec(conn, "ROLLBACK"));
out:
    PQclear(res);
    return 0;
}
