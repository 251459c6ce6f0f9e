/* TPC-C order status over the client library of MariaDB, with SQL texts. Reads only; one
 * snapshot for all queries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "order_status.h"

int order_status(MYSQL *conn, const struct order_status_input *in,
                 struct order_status_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024], name[40];
    unsigned long long n;

    if (mysql_query(conn, "START TRANSACTION READ ONLY") != 0)
        goto fail;

    if (in->c_id == 0) {
        mysql_real_escape_string(conn, name, in->c_last, strlen(in->c_last));
        snprintf(sql, sizeof sql,
                 "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = "
                 "%d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first",
                 in->w_id, in->d_id, name);
    } else {
        snprintf(sql, sizeof sql,
                 "SELECT c_id, c_first, c_middle, c_last, c_balance FROM customer WHERE c_w_id = "
                 "%d AND c_d_id = %d AND c_id = %d",
                 in->w_id, in->d_id, in->c_id);
    }
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL)
        goto fail;
    n = mysql_num_rows(res);
    if (n == 0)
        goto fail;
    mysql_data_seek(res, (n - 1) / 2);
    row = mysql_fetch_row(res);
    out->c_id = atoi(row[0]);
    snprintf(out->c_first, sizeof out->c_first, "%s", row[1]);
    snprintf(out->c_middle, sizeof out->c_middle, "%s", row[2]);
    snprintf(out->c_last, sizeof out->c_last, "%s", row[3]);
    out->c_balance = atof(row[4]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = %d AND o_d_id = %d "
             "AND o_c_id = %d ORDER BY o_id DESC LIMIT 1",
             in->w_id, in->d_id, out->c_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->o_id = atoi(row[0]);
    out->o_carrier_id = row[1] == NULL ? 0 : atoi(row[1]);
    snprintf(out->o_entry_d, sizeof out->o_entry_d, "%s", row[2]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM "
             "order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d",
             in->w_id, in->d_id, out->o_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL)
        goto fail;
    out->ol_cnt = 0;
    for (int i = 0; i < MAX_LINES && (row = mysql_fetch_row(res)) != NULL; i++) {
        out->ol_cnt++;
        out->lines[i].i_id = atoi(row[0]);
        out->lines[i].supply_w_id = atoi(row[1]);
        out->lines[i].quantity = atoi(row[2]);
        out->lines[i].amount = atof(row[3]);
        snprintf(out->lines[i].delivery_d, sizeof out->lines[i].delivery_d, "%s",
                 row[4] == NULL ? "" : row[4]);
    }
    mysql_free_result(res);
    res = NULL;

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "order status: %s\n", mysql_error(conn));
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return -1;
}
