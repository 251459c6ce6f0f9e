/* TPC-E trade result over the client library of MariaDB, with SQL texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "trade_result.h"

int trade_result(MYSQL *conn, const struct trade_result_input *in,
                 struct trade_result_output *out)
{
    MYSQL_RES *res = NULL, *holdings = NULL;
    MYSQL_ROW row;
    char sql[1024];
    char type_id[4], type_name[13], symbol[16], s_name[71], exch_id[7];
    char cash_name[101], escaped[202];
    long long hold_id;
    int broker_id, cust_id, cust_tier, quantity, before, after;
    double charge, hold_price, tax_rate, comm_rate, settlement;
    int trade_qty, is_lifo, is_cash, is_sell, hs_qty, needed_qty, hold_qty, tax_status;

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    /* Frame 1: the trade, and what the account holds of the security. */
    snprintf(sql, sizeof sql,
             "SELECT t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash FROM trade "
             "WHERE t_id = %lld",
             in->trade_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->acct_id = atoi(row[0]);
    snprintf(type_id, sizeof type_id, "%s", row[1]);
    snprintf(symbol, sizeof symbol, "%s", row[2]);
    trade_qty = atoi(row[3]);
    charge = atof(row[4]);
    is_lifo = atoi(row[5]);
    is_cash = atoi(row[6]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT tt_name, tt_is_sell FROM trade_type WHERE tt_id = '%s'",
             type_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    snprintf(type_name, sizeof type_name, "%s", row[0]);
    is_sell = atoi(row[1]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT hs_qty FROM holding_summary WHERE hs_ca_id = %d AND hs_s_symb = '%s' FOR "
             "UPDATE",
             out->acct_id, symbol);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL)
        goto fail;
    row = mysql_fetch_row(res);
    hs_qty = row == NULL ? 0 : atoi(row[0]);
    mysql_free_result(res);
    res = NULL;

    /* Frame 2: the holdings. A sale closes what was bought, a purchase what was sold short; what
     * remains of the trade is a holding of its own. */
    snprintf(sql, sizeof sql,
             "SELECT ca_b_id, ca_c_id, ca_tax_st FROM customer_account WHERE ca_id = %d",
             out->acct_id);
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

    if (hs_qty == 0) {
        snprintf(sql, sizeof sql,
                 "INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) VALUES (%d, '%s', %d)",
                 out->acct_id, symbol, is_sell ? -trade_qty : trade_qty);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    } else if (hs_qty != (is_sell ? trade_qty : -trade_qty)) {
        snprintf(sql, sizeof sql,
                 "UPDATE holding_summary SET hs_qty = hs_qty + %d WHERE hs_ca_id = %d AND "
                 "hs_s_symb = '%s'",
                 is_sell ? -trade_qty : trade_qty, out->acct_id, symbol);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    }

    out->buy_value = 0;
    out->sell_value = 0;
    needed_qty = trade_qty;
    if (is_sell ? hs_qty > 0 : hs_qty < 0) {
        if (is_lifo)
            snprintf(sql, sizeof sql,
                     "SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = %d AND h_s_symb "
                     "= '%s' ORDER BY h_dts DESC FOR UPDATE",
                     out->acct_id, symbol);
        else
            snprintf(sql, sizeof sql,
                     "SELECT h_t_id, h_qty, h_price FROM holding WHERE h_ca_id = %d AND h_s_symb "
                     "= '%s' ORDER BY h_dts FOR UPDATE",
                     out->acct_id, symbol);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        holdings = mysql_store_result(conn);
        if (holdings == NULL)
            goto fail;
        while (needed_qty > 0 && (row = mysql_fetch_row(holdings)) != NULL) {
            hold_id = atoll(row[0]);
            before = atoi(row[1]);
            hold_price = atof(row[2]);
            hold_qty = abs(before);
            if (hold_qty > needed_qty) {
                /* A part of the holding. */
                after = is_sell ? hold_qty - needed_qty : needed_qty - hold_qty;
                hold_qty = needed_qty;
            } else {
                after = 0;
            }

            snprintf(sql, sizeof sql,
                     "INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, "
                     "hh_after_qty) VALUES (%lld, %lld, %d, %d)",
                     hold_id, in->trade_id, before, after);
            if (mysql_query(conn, sql) != 0)
                goto fail;

            if (after != 0)
                snprintf(sql, sizeof sql, "UPDATE holding SET h_qty = %d WHERE h_t_id = %lld",
                         after, hold_id);
            else
                snprintf(sql, sizeof sql, "DELETE FROM holding WHERE h_t_id = %lld", hold_id);
            if (mysql_query(conn, sql) != 0)
                goto fail;

            if (is_sell) {
                out->buy_value += hold_qty * hold_price;
                out->sell_value += hold_qty * in->trade_price;
            } else {
                out->buy_value += hold_qty * in->trade_price;
                out->sell_value += hold_qty * hold_price;
            }
            needed_qty -= hold_qty;
        }
        mysql_free_result(holdings);
        holdings = NULL;
    }

    if (needed_qty > 0) {
        quantity = is_sell ? -needed_qty : needed_qty;
        snprintf(sql, sizeof sql,
                 "INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty) "
                 "VALUES (%lld, %lld, 0, %d)",
                 in->trade_id, in->trade_id, quantity);
        if (mysql_query(conn, sql) != 0)
            goto fail;

        snprintf(sql, sizeof sql,
                 "INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, h_qty) VALUES "
                 "(%lld, %d, '%s', NOW(), %.2f, %d)",
                 in->trade_id, out->acct_id, symbol, in->trade_price, quantity);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    } else if (hs_qty == (is_sell ? trade_qty : -trade_qty)) {
        snprintf(sql, sizeof sql,
                 "DELETE FROM holding_summary WHERE hs_ca_id = %d AND hs_s_symb = '%s'",
                 out->acct_id, symbol);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    }

    /* Frame 3: the tax on a profit. */
    out->tax_amount = 0;
    if ((tax_status == 1 || tax_status == 2) && out->sell_value > out->buy_value) {
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

        snprintf(sql, sizeof sql,
                 "UPDATE trade SET t_tax = %.2f WHERE t_id = %lld",
                 out->tax_amount, in->trade_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    }

    /* Frame 4: the commission. */
    snprintf(sql, sizeof sql, "SELECT s_ex_id, s_name FROM security WHERE s_symb = '%s'", symbol);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    snprintf(exch_id, sizeof exch_id, "%s", row[0]);
    snprintf(s_name, sizeof s_name, "%s", row[1]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql, "SELECT c_tier FROM customer WHERE c_id = %d", cust_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    cust_tier = atoi(row[0]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT cr_rate FROM commission_rate WHERE cr_c_tier = %d AND cr_tt_id = '%s' AND "
             "cr_ex_id = '%s' AND cr_from_qty <= %d AND cr_to_qty >= %d",
             cust_tier, type_id, exch_id, trade_qty, trade_qty);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    comm_rate = atof(row[0]);
    mysql_free_result(res);
    res = NULL;
    out->comm_amount = comm_rate / 100 * trade_qty * in->trade_price;

    /* Frame 5: the trade is completed, and the broker earns the commission. */
    snprintf(sql, sizeof sql,
             "UPDATE trade SET t_comm = %.2f, t_dts = NOW(), t_st_id = 'CMPT', t_trade_price = "
             "%.2f WHERE t_id = %lld",
             out->comm_amount, in->trade_price, in->trade_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    snprintf(sql, sizeof sql,
             "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) VALUES (%lld, NOW(), 'CMPT')",
             in->trade_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    snprintf(sql, sizeof sql,
             "UPDATE broker SET b_comm_total = b_comm_total + %.2f, b_num_trades = b_num_trades + "
             "1 WHERE b_id = %d",
             out->comm_amount, broker_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    /* Frame 6: the settlement. */
    if (is_sell)
        settlement = trade_qty * in->trade_price - charge - out->comm_amount;
    else
        settlement = -(trade_qty * in->trade_price + charge + out->comm_amount);
    if (tax_status == 1)
        settlement -= out->tax_amount;

    snprintf(sql, sizeof sql,
             "INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt) VALUES "
             "(%lld, '%s', CURRENT_DATE + INTERVAL 2 DAY, %.2f)",
             in->trade_id, is_cash ? "Cash Account" : "Margin", settlement);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    if (is_cash) {
        snprintf(sql, sizeof sql,
                 "UPDATE customer_account SET ca_bal = ca_bal + %.2f WHERE ca_id = %d",
                 settlement, out->acct_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;

        snprintf(cash_name, sizeof cash_name, "%s %d shares of %.60s", type_name, trade_qty,
                 s_name);
        mysql_real_escape_string(conn, escaped, cash_name, strlen(cash_name));
        snprintf(sql, sizeof sql,
                 "INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name) VALUES (%lld, "
                 "NOW(), %.2f, '%s')",
                 in->trade_id, settlement, escaped);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    }

    snprintf(sql, sizeof sql, "SELECT ca_bal FROM customer_account WHERE ca_id = %d", out->acct_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->acct_bal = atof(row[0]);
    mysql_free_result(res);
    res = NULL;

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "trade result: %s\n", mysql_error(conn));
    mysql_free_result(holdings);
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return -1;
}
