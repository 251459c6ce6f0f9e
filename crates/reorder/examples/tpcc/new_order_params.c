/* TPC-C new order over libpq, with parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "new_order.h"

int new_order(PGconn *conn, const struct new_order_input *in, struct new_order_output *out)
{
    PGresult *res = NULL;
    const char *params[10];
    char w_id[12], d_id[12], c_id[12], o_id[12], ol_cnt[12], all_local[2];
    char number[12], i_id[12], supply_w_id[12], quantity[12], remote[2], amount[24];
    char i_data[51], s_data[51], dist_info[25];
    int local = 1, status = -1, s_quantity;
    char new_quantity[12];

    snprintf(w_id, sizeof w_id, "%d", in->w_id);
    snprintf(d_id, sizeof d_id, "%d", in->d_id);
    snprintf(c_id, sizeof c_id, "%d", in->c_id);
    snprintf(ol_cnt, sizeof ol_cnt, "%d", in->ol_cnt);
    for (int i = 0; i < in->ol_cnt; i++)
        if (in->lines[i].supply_w_id != in->w_id)
            local = 0;
    snprintf(all_local, sizeof all_local, "%d", local);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[0] = w_id;
    res = PQexecParams(conn, "SELECT w_tax FROM warehouse WHERE w_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    out->w_tax = atof(PQgetvalue(res, 0, 0));
    PQclear(res);

    params[0] = w_id;
    params[1] = d_id;
    res = PQexecParams(conn,
                       "SELECT d_tax, d_next_o_id FROM district "
                       "WHERE d_w_id = $1 AND d_id = $2 FOR UPDATE",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    out->d_tax = atof(PQgetvalue(res, 0, 0));
    out->o_id = atoi(PQgetvalue(res, 0, 1));
    PQclear(res);
    snprintf(o_id, sizeof o_id, "%d", out->o_id);

    res = PQexecParams(conn,
                       "UPDATE district SET d_next_o_id = d_next_o_id + 1 "
                       "WHERE d_w_id = $1 AND d_id = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[2] = c_id;
    res = PQexecParams(conn,
                       "SELECT c_discount, c_last, c_credit FROM customer "
                       "WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    out->c_discount = atof(PQgetvalue(res, 0, 0));
    snprintf(out->c_last, sizeof out->c_last, "%s", PQgetvalue(res, 0, 1));
    snprintf(out->c_credit, sizeof out->c_credit, "%s", PQgetvalue(res, 0, 2));
    PQclear(res);

    params[0] = o_id;
    params[1] = d_id;
    params[2] = w_id;
    params[3] = c_id;
    params[4] = ol_cnt;
    params[5] = all_local;
    res = PQexecParams(conn,
                       "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, "
                       "o_all_local) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP, $5, $6)",
                       6, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    res = PQexecParams(conn,
                       "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    out->total = 0;
    for (int i = 0; i < in->ol_cnt; i++) {
        snprintf(number, sizeof number, "%d", i + 1);
        snprintf(i_id, sizeof i_id, "%d", in->lines[i].i_id);
        snprintf(supply_w_id, sizeof supply_w_id, "%d", in->lines[i].supply_w_id);
        snprintf(quantity, sizeof quantity, "%d", in->lines[i].quantity);
        snprintf(remote, sizeof remote, "%d", in->lines[i].supply_w_id != in->w_id);

        params[0] = i_id;
        res = PQexecParams(conn, "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK)
            goto fail;
        if (PQntuples(res) == 0) {
            /* The clerk mistyped the number of an item. */
            status = NEW_ORDER_INVALID_ITEM;
            goto rollback;
        }
        out->lines[i].i_price = atof(PQgetvalue(res, 0, 0));
        snprintf(out->lines[i].i_name, sizeof out->lines[i].i_name, "%s", PQgetvalue(res, 0, 1));
        snprintf(i_data, sizeof i_data, "%s", PQgetvalue(res, 0, 2));
        PQclear(res);

        params[0] = supply_w_id;
        params[1] = i_id;
        params[2] = d_id;
        res = PQexecParams(conn,
                           "SELECT s_quantity, s_data, CASE $3::integer "
                           "WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 "
                           "WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 "
                           "WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 "
                           "ELSE s_dist_10 END "
                           "FROM stock WHERE s_w_id = $1 AND s_i_id = $2 FOR UPDATE",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        s_quantity = atoi(PQgetvalue(res, 0, 0));
        snprintf(s_data, sizeof s_data, "%s", PQgetvalue(res, 0, 1));
        snprintf(dist_info, sizeof dist_info, "%s", PQgetvalue(res, 0, 2));
        PQclear(res);

        s_quantity -= in->lines[i].quantity;
        if (s_quantity < 10)
            s_quantity += 91;
        snprintf(new_quantity, sizeof new_quantity, "%d", s_quantity);
        params[0] = new_quantity;
        params[1] = quantity;
        params[2] = remote;
        params[3] = supply_w_id;
        params[4] = i_id;
        res = PQexecParams(conn,
                           "UPDATE stock SET s_quantity = $1, s_ytd = s_ytd + $2, "
                           "s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $3 "
                           "WHERE s_w_id = $4 AND s_i_id = $5",
                           5, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);

        out->lines[i].s_quantity = s_quantity;
        out->lines[i].amount = in->lines[i].quantity * out->lines[i].i_price;
        if (strstr(i_data, "ORIGINAL") != NULL && strstr(s_data, "ORIGINAL") != NULL)
            out->lines[i].brand_generic = 'B';
        else
            out->lines[i].brand_generic = 'G';
        out->total += out->lines[i].amount;

        snprintf(amount, sizeof amount, "%.2f", out->lines[i].amount);
        params[0] = o_id;
        params[1] = d_id;
        params[2] = w_id;
        params[3] = number;
        params[4] = i_id;
        params[5] = supply_w_id;
        params[6] = quantity;
        params[7] = amount;
        params[8] = dist_info;
        res = PQexecParams(conn,
                           "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, "
                           "ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) "
                           "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                           9, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }
    out->total *= (1 - out->c_discount) * (1 + out->w_tax + out->d_tax);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "new order: %s", PQerrorMessage(conn));
rollback:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return status;
}
