// The second connection commits each query by itself: a rollback on the first does not undo it.
// api: libpq
// function: pay
// expect: unchanged
#include <libpq-fe.h>

int pay(PGconn *first, PGconn *second)
{
    PGresult *res;

    PQclear(PQexec(first, "BEGIN"));
    res = PQexec(first, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexec(second, "INSERT INTO log VALUES ('region is done')");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    PQclear(PQexec(first, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(first, "ROLLBACK"));
    return -1;
}
