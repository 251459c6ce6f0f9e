// The array of parameters holds pointers to buffers. The text of the item is kept in an array; the
// pointer to the buffer stays right, since the buffer gets its text back.
// objective: position
// splits: yes
// api: libpq
// relaxed reads: yes
// expect: moves
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

int order(PGconn *conn, const int items[10], const char *customer)
{
    PGresult *res = NULL;
    const char *params[3];
    char item[12], name[31], sum[24];
    long total = 0;

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    for (int i = 0; i < 10; i++) {
        snprintf(item, sizeof item, "%d", items[i]);
        params[0] = item;
        res = PQexecParams(conn, "SELECT i_name, i_price FROM item WHERE i_id = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        snprintf(name, sizeof name, "%s", PQgetvalue(res, 0, 0));
        total += atol(PQgetvalue(res, 0, 1));
        PQclear(res);

        params[1] = name;
        res = PQexecParams(conn, "UPDATE region SET r_name = $2 WHERE r_id = $1",
                           2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }

    snprintf(sum, sizeof sum, "%ld", total);
    params[0] = sum;
    params[1] = customer;
    res = PQexecParams(conn, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
