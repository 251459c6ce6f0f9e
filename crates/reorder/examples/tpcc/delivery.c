/* TPC-C delivery over libpq, with parameters: all districts in one transaction. */
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "delivery.h"

int delivery(PGconn *conn, const struct delivery_input *in, struct delivery_output *out)
{
    PGresult *res;
    const char *params[4];
    char w_id[12], d_id[12], carrier[12], o_id[12], c_id[12], total[32];

    snprintf(w_id, sizeof w_id, "%d", in->w_id);
    snprintf(carrier, sizeof carrier, "%d", in->o_carrier_id);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    for (int d = 1; d <= DISTRICTS; d++) {
        snprintf(d_id, sizeof d_id, "%d", d);

        /* The oldest order; the lock keeps two deliveries from taking the same one. */
        params[0] = w_id;
        params[1] = d_id;
        res = PQexecParams(conn,
                           "SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 "
                           "ORDER BY no_o_id LIMIT 1 FOR UPDATE",
                           2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK)
            goto fail;
        if (PQntuples(res) == 0) {
            /* Nothing to deliver, or another delivery has just taken the order. */
            PQclear(res);
            out->o_id[d - 1] = 0;
            continue;
        }
        out->o_id[d - 1] = atoi(PQgetvalue(res, 0, 0));
        PQclear(res);
        snprintf(o_id, sizeof o_id, "%d", out->o_id[d - 1]);

        params[2] = o_id;
        res = PQexecParams(conn,
                           "DELETE FROM new_order "
                           "WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);

        res = PQexecParams(conn,
                           "SELECT o_c_id FROM orders "
                           "WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        snprintf(c_id, sizeof c_id, "%s", PQgetvalue(res, 0, 0));
        PQclear(res);

        params[3] = carrier;
        res = PQexecParams(conn,
                           "UPDATE orders SET o_carrier_id = $4 "
                           "WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3",
                           4, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);

        res = PQexecParams(conn,
                           "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP "
                           "WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);

        res = PQexecParams(conn,
                           "SELECT sum(ol_amount) FROM order_line "
                           "WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        snprintf(total, sizeof total, "%s", PQgetvalue(res, 0, 0));
        PQclear(res);

        params[2] = c_id;
        params[3] = total;
        res = PQexecParams(conn,
                           "UPDATE customer SET c_balance = c_balance + $4, "
                           "c_delivery_cnt = c_delivery_cnt + 1 "
                           "WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
                           4, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "delivery: %s", PQerrorMessage(conn));
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
