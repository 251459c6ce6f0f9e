/* TPC-C order status over libpq, with parameters. Reads only; one snapshot for all queries. */
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "order_status.h"

int order_status(PGconn *conn, const struct order_status_input *in,
                 struct order_status_output *out)
{
    PGresult *res;
    const char *params[3];
    char w_id[12], d_id[12], c_id[12], o_id[12];
    int n;

    snprintf(w_id, sizeof w_id, "%d", in->w_id);
    snprintf(d_id, sizeof d_id, "%d", in->d_id);
    params[0] = w_id;
    params[1] = d_id;

    res = PQexec(conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    if (in->c_id == 0) {
        params[2] = in->c_last;
        res = PQexecParams(conn,
                           "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer "
                           "WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
                           3, NULL, params, NULL, NULL, 0);
    } else {
        snprintf(c_id, sizeof c_id, "%d", in->c_id);
        params[2] = c_id;
        res = PQexecParams(conn,
                           "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer "
                           "WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
                           3, NULL, params, NULL, NULL, 0);
    }
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    n = PQntuples(res);
    if (n == 0)
        goto fail;
    n = (n - 1) / 2;
    out->c_id = atoi(PQgetvalue(res, n, 0));
    snprintf(out->c_first, sizeof out->c_first, "%s", PQgetvalue(res, n, 1));
    snprintf(out->c_middle, sizeof out->c_middle, "%s", PQgetvalue(res, n, 2));
    snprintf(out->c_last, sizeof out->c_last, "%s", PQgetvalue(res, n, 3));
    out->c_balance = atof(PQgetvalue(res, n, 4));
    PQclear(res);

    snprintf(c_id, sizeof c_id, "%d", out->c_id);
    params[2] = c_id;
    res = PQexecParams(conn,
                       "SELECT o_id, o_carrier_id, o_entry_d FROM orders "
                       "WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3 "
                       "ORDER BY o_id DESC LIMIT 1",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    out->o_id = atoi(PQgetvalue(res, 0, 0));
    out->o_carrier_id = PQgetisnull(res, 0, 1) ? 0 : atoi(PQgetvalue(res, 0, 1));
    snprintf(out->o_entry_d, sizeof out->o_entry_d, "%s", PQgetvalue(res, 0, 2));
    PQclear(res);

    snprintf(o_id, sizeof o_id, "%d", out->o_id);
    params[2] = o_id;
    res = PQexecParams(conn,
                       "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d "
                       "FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    out->ol_cnt = PQntuples(res);
    if (out->ol_cnt > MAX_LINES)
        out->ol_cnt = MAX_LINES;
    for (int i = 0; i < out->ol_cnt; i++) {
        out->lines[i].i_id = atoi(PQgetvalue(res, i, 0));
        out->lines[i].supply_w_id = atoi(PQgetvalue(res, i, 1));
        out->lines[i].quantity = atoi(PQgetvalue(res, i, 2));
        out->lines[i].amount = atof(PQgetvalue(res, i, 3));
        snprintf(out->lines[i].delivery_d, sizeof out->lines[i].delivery_d, "%s",
                 PQgetvalue(res, i, 4));
    }
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "order status: %s", PQerrorMessage(conn));
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
