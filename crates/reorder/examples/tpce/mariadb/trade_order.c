/* TPC-E trade order over the client library of MariaDB, with SQL texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "trade_order.h"

int trade_order(MYSQL *conn, const struct trade_order_input *in, struct trade_order_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024];
    char exec_f_name[41], exec_l_name[51], exec_tax_id[41], co_name[121], issue[13], type_id[7];
    char exch_id[7], symbol[31];
    double market_price, hold_price, tax_rate, hold_assets, comm;
    int broker_id, cust_id, cust_tier, co_id, tax_status, is_market, is_sell, hold_qty;
    int needed_qty, status = -1;

    mysql_real_escape_string(conn, exec_f_name, in->exec_f_name, strlen(in->exec_f_name));
    mysql_real_escape_string(conn, exec_l_name, in->exec_l_name, strlen(in->exec_l_name));
    mysql_real_escape_string(conn, exec_tax_id, in->exec_tax_id, strlen(in->exec_tax_id));
    mysql_real_escape_string(conn, type_id, in->trade_type_id, strlen(in->trade_type_id));

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    /* Frame 1: the account, its customer and its broker. */
    snprintf(sql, sizeof sql,
             "SELECT ca_b_id, ca_c_id, ca_tax_st FROM customer_account WHERE ca_id = %d",
             in->acct_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    broker_id = atoi(row[0]);
    cust_id = atoi(row[1]);
    tax_status = atoi(row[2]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT c_f_name, c_l_name, c_tier FROM customer WHERE c_id = %d",
             cust_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    snprintf(out->cust_f_name, sizeof out->cust_f_name, "%s", row[0]);
    snprintf(out->cust_l_name, sizeof out->cust_l_name, "%s", row[1]);
    cust_tier = atoi(row[2]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql, "SELECT b_name FROM broker WHERE b_id = %d", broker_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    snprintf(out->broker_name, sizeof out->broker_name, "%s", row[0]);
    mysql_free_result(res);
    res = NULL;

    /* Frame 2: somebody other than the customer needs a permission. */
    if (strcmp(in->exec_l_name, out->cust_l_name) != 0 ||
        strcmp(in->exec_f_name, out->cust_f_name) != 0) {
        snprintf(sql, sizeof sql,
                 "SELECT ap_acl FROM account_permission WHERE ap_ca_id = %d AND ap_f_name = '%s' "
                 "AND ap_l_name = '%s' AND ap_tax_id = '%s'",
                 in->acct_id, exec_f_name, exec_l_name, exec_tax_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL)
            goto fail;
        if ((row = mysql_fetch_row(res)) == NULL) {
            status = TRADE_ORDER_REFUSED;
            goto rollback;
        }
        mysql_free_result(res);
        res = NULL;
    }

    /* Frame 3: the security, by company and issue or by symbol. */
    if (in->symbol[0] == '\0') {
        mysql_real_escape_string(conn, co_name, in->co_name, strlen(in->co_name));
        mysql_real_escape_string(conn, issue, in->issue, strlen(in->issue));
        snprintf(sql, sizeof sql, "SELECT co_id FROM company WHERE co_name = '%s'", co_name);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        co_id = atoi(row[0]);
        snprintf(out->co_name, sizeof out->co_name, "%s", in->co_name);
        mysql_free_result(res);
        res = NULL;

        snprintf(sql, sizeof sql,
                 "SELECT s_ex_id, s_name, s_symb FROM security WHERE s_co_id = %d AND s_issue = "
                 "'%s'",
                 co_id, issue);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        snprintf(exch_id, sizeof exch_id, "%s", row[0]);
        snprintf(out->s_name, sizeof out->s_name, "%s", row[1]);
        snprintf(symbol, sizeof symbol, "%s", row[2]);
        mysql_free_result(res);
        res = NULL;
    } else {
        mysql_real_escape_string(conn, symbol, in->symbol, strlen(in->symbol));
        snprintf(sql, sizeof sql,
                 "SELECT s_co_id, s_ex_id, s_name FROM security WHERE s_symb = '%s'",
                 symbol);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        co_id = atoi(row[0]);
        snprintf(exch_id, sizeof exch_id, "%s", row[1]);
        snprintf(out->s_name, sizeof out->s_name, "%s", row[2]);
        mysql_free_result(res);
        res = NULL;

        snprintf(sql, sizeof sql, "SELECT co_name FROM company WHERE co_id = %d", co_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        snprintf(out->co_name, sizeof out->co_name, "%s", row[0]);
        mysql_free_result(res);
        res = NULL;
    }

    snprintf(sql, sizeof sql, "SELECT lt_price FROM last_trade WHERE lt_s_symb = '%s'", symbol);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    market_price = atof(row[0]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT tt_is_mrkt, tt_is_sell FROM trade_type WHERE tt_id = '%s'",
             type_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    is_market = atoi(row[0]);
    is_sell = atoi(row[1]);
    mysql_free_result(res);
    res = NULL;
    out->requested_price = is_market ? market_price : in->requested_price;

    /* What the account holds of the security: the order may close some of it. */
    snprintf(sql, sizeof sql,
             "SELECT hs_qty FROM holding_summary WHERE hs_ca_id = %d AND hs_s_symb = '%s'",
             in->acct_id, symbol);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL)
        goto fail;
    row = mysql_fetch_row(res);
    hold_qty = row == NULL ? 0 : atoi(row[0]);
    mysql_free_result(res);
    res = NULL;

    out->buy_value = 0;
    out->sell_value = 0;
    needed_qty = in->trade_qty;
    if ((is_sell && hold_qty > 0) || (!is_sell && hold_qty < 0)) {
        if (in->is_lifo)
            snprintf(sql, sizeof sql,
                     "SELECT h_qty, h_price FROM holding WHERE h_ca_id = %d AND h_s_symb = '%s' "
                     "ORDER BY h_dts DESC",
                     in->acct_id, symbol);
        else
            snprintf(sql, sizeof sql,
                     "SELECT h_qty, h_price FROM holding WHERE h_ca_id = %d AND h_s_symb = '%s' "
                     "ORDER BY h_dts",
                     in->acct_id, symbol);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL)
            goto fail;
        while (needed_qty > 0 && (row = mysql_fetch_row(res)) != NULL) {
            hold_qty = abs(atoi(row[0]));
            hold_price = atof(row[1]);
            if (hold_qty > needed_qty)
                hold_qty = needed_qty;
            if (is_sell) {
                out->buy_value += hold_qty * hold_price;
                out->sell_value += hold_qty * out->requested_price;
            } else {
                out->buy_value += hold_qty * out->requested_price;
                out->sell_value += hold_qty * hold_price;
            }
            needed_qty -= hold_qty;
        }
        mysql_free_result(res);
        res = NULL;
    }

    /* The tax on a profit. */
    out->tax_amount = 0;
    if (out->sell_value > out->buy_value && (tax_status == 1 || tax_status == 2)) {
        snprintf(sql, sizeof sql,
                 "SELECT sum(tx_rate) FROM taxrate JOIN customer_taxrate ON cx_tx_id = tx_id "
                 "WHERE cx_c_id = %d",
                 cust_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        tax_rate = atof(row[0]);
        mysql_free_result(res);
        res = NULL;
        out->tax_amount = (out->sell_value - out->buy_value) * tax_rate;
    }

    /* Commission and charge. */
    snprintf(sql, sizeof sql,
             "SELECT cr_rate FROM commission_rate WHERE cr_c_tier = %d AND cr_tt_id = '%s' AND "
             "cr_ex_id = '%s' AND cr_from_qty <= %d AND cr_to_qty >= %d",
             cust_tier, type_id, exch_id, in->trade_qty, in->trade_qty);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->comm_rate = atof(row[0]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT ch_chrg FROM charge WHERE ch_tt_id = '%s' AND ch_c_tier = %d",
             type_id, cust_tier);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->charge_amount = atof(row[0]);
    mysql_free_result(res);
    res = NULL;

    /* The assets of the account secure a trade on margin. */
    out->acct_assets = 0;
    if (in->type_is_margin) {
        snprintf(sql, sizeof sql,
                 "SELECT ca_bal FROM customer_account WHERE ca_id = %d",
                 in->acct_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        out->acct_assets = atof(row[0]);
        mysql_free_result(res);
        res = NULL;

        snprintf(sql, sizeof sql,
                 "SELECT sum(hs_qty * lt_price) FROM holding_summary JOIN last_trade ON lt_s_symb "
                 "= hs_s_symb WHERE hs_ca_id = %d",
                 in->acct_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        hold_assets = row[0] == NULL ? 0 : atof(row[0]);
        mysql_free_result(res);
        res = NULL;
        out->acct_assets += hold_assets;
    }
    snprintf(out->status_id, sizeof out->status_id, "%s", is_market ? "SBMT" : "PNDG");

    /* Frame 4: the trade. */
    comm = out->comm_rate / 100 * in->trade_qty * out->requested_price;
    snprintf(sql, sizeof sql,
             "INSERT INTO trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, "
             "t_bid_price, t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo) "
             "VALUES (NOW(), '%s', '%s', %d, '%s', %d, %.2f, %d, '%s %s', NULL, %.2f, %.2f, 0, "
             "%d)",
             out->status_id, type_id, !in->type_is_margin, symbol, in->trade_qty,
             out->requested_price, in->acct_id, exec_f_name, exec_l_name, out->charge_amount, comm,
             in->is_lifo != 0);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    out->trade_id = (long long)mysql_insert_id(conn);

    if (!is_market) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, tr_bid_price, "
                 "tr_b_id) VALUES (%lld, '%s', '%s', %d, %.2f, %d)",
                 out->trade_id, type_id, symbol, in->trade_qty, out->requested_price, broker_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    }

    snprintf(sql, sizeof sql,
             "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (%lld, NOW(), '%s')",
             out->trade_id, out->status_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    /* Frame 5: a trial order ends here. */
    if (in->roll_it_back) {
        status = TRADE_ORDER_REFUSED;
        goto rollback;
    }

    /* Frame 6. */
    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "trade order: %s\n", mysql_error(conn));
rollback:
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return status;
}
