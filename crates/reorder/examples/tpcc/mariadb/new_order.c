/* TPC-C new order over the client library of MariaDB, with SQL texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "new_order.h"

int new_order(MYSQL *conn, const struct new_order_input *in, struct new_order_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024];
    char i_data[51], s_data[51], dist_info[25];
    int local = 1, status = -1, s_quantity;

    for (int i = 0; i < in->ol_cnt; i++)
        if (in->lines[i].supply_w_id != in->w_id)
            local = 0;

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    snprintf(sql, sizeof sql, "SELECT w_tax FROM warehouse WHERE w_id = %d", in->w_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->w_tax = atof(row[0]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE",
             in->w_id, in->d_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->d_tax = atof(row[0]);
    out->o_id = atoi(row[1]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %d AND d_id = %d",
             in->w_id, in->d_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    snprintf(sql, sizeof sql,
             "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = %d AND c_d_id = %d "
             "AND c_id = %d",
             in->w_id, in->d_id, in->c_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->c_discount = atof(row[0]);
    snprintf(out->c_last, sizeof out->c_last, "%s", row[1]);
    snprintf(out->c_credit, sizeof out->c_credit, "%s", row[2]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) "
             "VALUES (%d, %d, %d, %d, NOW(), %d, %d)",
             out->o_id, in->d_id, in->w_id, in->c_id, in->ol_cnt, local);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    snprintf(sql, sizeof sql,
             "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (%d, %d, %d)",
             out->o_id, in->d_id, in->w_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    out->total = 0;
    for (int i = 0; i < in->ol_cnt; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT i_price, i_name, i_data FROM item WHERE i_id = %d",
                 in->lines[i].i_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL)
            goto fail;
        if ((row = mysql_fetch_row(res)) == NULL) {
            /* The clerk mistyped the number of an item. */
            status = NEW_ORDER_INVALID_ITEM;
            goto rollback;
        }
        out->lines[i].i_price = atof(row[0]);
        snprintf(out->lines[i].i_name, sizeof out->lines[i].i_name, "%s", row[1]);
        snprintf(i_data, sizeof i_data, "%s", row[2]);
        mysql_free_result(res);
        res = NULL;

        snprintf(sql, sizeof sql,
                 "SELECT s_quantity, s_data, CASE %d WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 "
                 "WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN "
                 "s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 "
                 "ELSE s_dist_10 END FROM stock WHERE s_w_id = %d AND s_i_id = %d FOR UPDATE",
                 in->d_id, in->lines[i].supply_w_id, in->lines[i].i_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        s_quantity = atoi(row[0]);
        snprintf(s_data, sizeof s_data, "%s", row[1]);
        snprintf(dist_info, sizeof dist_info, "%s", row[2]);
        mysql_free_result(res);
        res = NULL;

        s_quantity -= in->lines[i].quantity;
        if (s_quantity < 10)
            s_quantity += 91;
        snprintf(sql, sizeof sql,
                 "UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt "
                 "+ 1, s_remote_cnt = s_remote_cnt + %d WHERE s_w_id = %d AND s_i_id = %d",
                 s_quantity, in->lines[i].quantity, in->lines[i].supply_w_id != in->w_id,
                 in->lines[i].supply_w_id, in->lines[i].i_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;

        out->lines[i].s_quantity = s_quantity;
        out->lines[i].amount = in->lines[i].quantity * out->lines[i].i_price;
        if (strstr(i_data, "ORIGINAL") != NULL && strstr(s_data, "ORIGINAL") != NULL)
            out->lines[i].brand_generic = 'B';
        else
            out->lines[i].brand_generic = 'G';
        out->total += out->lines[i].amount;

        snprintf(sql, sizeof sql,
                 "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, "
                 "ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (%d, %d, %d, %d, "
                 "%d, %d, %d, %.2f, '%s')",
                 out->o_id, in->d_id, in->w_id, i + 1, in->lines[i].i_id, in->lines[i].supply_w_id,
                 in->lines[i].quantity, out->lines[i].amount, dist_info);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    }
    out->total *= (1 - out->c_discount) * (1 + out->w_tax + out->d_tax);

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "new order: %s\n", mysql_error(conn));
rollback:
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return status;
}
