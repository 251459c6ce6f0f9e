/* TPC-C delivery over the client library of MariaDB, with SQL texts: all districts in one
 * transaction. */
#include <stdio.h>
#include <stdlib.h>

#include <mysql.h>

#include "delivery.h"

int delivery(MYSQL *conn, const struct delivery_input *in, struct delivery_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024];
    double total;
    int c_id;

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    for (int d = 1; d <= DISTRICTS; d++) {
        /* The oldest order; the lock keeps two deliveries from taking the same one. */
        snprintf(sql, sizeof sql,
                 "SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY "
                 "no_o_id LIMIT 1 FOR UPDATE",
                 in->w_id, d);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL)
            goto fail;
        if ((row = mysql_fetch_row(res)) == NULL) {
            /* Nothing to deliver, or another delivery has just taken the order. */
            mysql_free_result(res);
            res = NULL;
            out->o_id[d - 1] = 0;
            continue;
        }
        out->o_id[d - 1] = atoi(row[0]);
        mysql_free_result(res);
        res = NULL;

        snprintf(sql, sizeof sql,
                 "DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d",
                 in->w_id, d, out->o_id[d - 1]);
        if (mysql_query(conn, sql) != 0)
            goto fail;

        snprintf(sql, sizeof sql,
                 "SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d "
                 "FOR UPDATE",
                 in->w_id, d, out->o_id[d - 1]);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        c_id = atoi(row[0]);
        mysql_free_result(res);
        res = NULL;

        snprintf(sql, sizeof sql,
                 "UPDATE orders SET o_carrier_id = %d "
                 "WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d",
                 in->o_carrier_id, in->w_id, d, out->o_id[d - 1]);
        if (mysql_query(conn, sql) != 0)
            goto fail;

        snprintf(sql, sizeof sql,
                 "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d "
                 "AND ol_o_id = %d",
                 in->w_id, d, out->o_id[d - 1]);
        if (mysql_query(conn, sql) != 0)
            goto fail;

        snprintf(sql, sizeof sql,
                 "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND "
                 "ol_o_id = %d",
                 in->w_id, d, out->o_id[d - 1]);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        total = atof(row[0]);
        mysql_free_result(res);
        res = NULL;

        snprintf(sql, sizeof sql,
                 "UPDATE customer SET c_balance = c_balance + %.2f, "
                 "c_delivery_cnt = c_delivery_cnt + 1 "
                 "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
                 total, in->w_id, d, c_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    }

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "delivery: %s\n", mysql_error(conn));
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return -1;
}
