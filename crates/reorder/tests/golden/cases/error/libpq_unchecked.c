// The exit behind a test of an argument prints the error of the connection, which the update may
// have left: its failure is not checked.
// api: libpq
// expect: unchanged
#include <stdio.h>
#include <libpq-fe.h>

int pay(PGconn *db, int limit, int *stock)
{
    PGresult *begin, *end, *res = NULL;
    int found;

    begin = PQexec(db, "BEGIN");
    if (PQresultStatus(begin) != PGRES_COMMAND_OK)
        goto fail;
    res = PQexec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    PQclear(res);
    res = NULL;
    if (limit < 0)
        goto fail;
    res = PQexec(db, "SELECT i_id FROM item WHERE i_id = 7");
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    found = PQntuples(res);
    PQclear(res);
    res = NULL;
    if (found < limit)
        goto fail;
    *stock = found;
    end = PQexec(db, "COMMIT");
    if (PQresultStatus(end) != PGRES_COMMAND_OK)
        goto fail;
    return 0;
fail:
    fprintf(stderr, "%s\n", PQerrorMessage(db));
    PQclear(res);
    PQclear(PQexec(db, "ROLLBACK"));
    return -1;
}
