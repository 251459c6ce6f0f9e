/* TPC-C stock level over libpq, with parameters. Read committed is enough for it by the
 * specification. */
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "stock_level.h"

int stock_level(PGconn *conn, const struct stock_level_input *in, struct stock_level_output *out)
{
    PGresult *res;
    const char *params[5];
    char w_id[12], d_id[12], threshold[12], first[12], next[12];

    snprintf(w_id, sizeof w_id, "%d", in->w_id);
    snprintf(d_id, sizeof d_id, "%d", in->d_id);
    snprintf(threshold, sizeof threshold, "%d", in->threshold);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[0] = w_id;
    params[1] = d_id;
    res = PQexecParams(conn, "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(next, sizeof next, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);
    snprintf(first, sizeof first, "%d", atoi(next) - 20);

    params[2] = first;
    params[3] = next;
    params[4] = threshold;
    res = PQexecParams(conn,
                       "SELECT count(DISTINCT s_i_id) FROM order_line "
                       "JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id "
                       "WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id >= $3 AND ol_o_id < $4 "
                       "AND s_quantity < $5",
                       5, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    out->low_stock = atoi(PQgetvalue(res, 0, 0));
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "stock level: %s", PQerrorMessage(conn));
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
