/* TPC-E trade result over libpq, with parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "trade_result.h"

int trade_result(PGconn *conn, const struct trade_result_input *in,
                 struct trade_result_output *out)
{
    PGresult *res = NULL, *holdings = NULL;
    const char *params[6];
    char trade_id[24], acct_id[12], type_id[4], type_name[13], symbol[16], s_name[71];
    char broker_id[12], cust_id[12], exch_id[7], cust_tier[8], quantity[12], change[12];
    char before[12], after[12], price[24], tax[24], comm[24], amount[24], cash_name[101];
    const char *hold_id;
    double charge, hold_price, tax_rate, comm_rate, settlement;
    int trade_qty, is_lifo, is_cash, is_sell, hs_qty, needed_qty, hold_qty, tax_status;

    snprintf(trade_id, sizeof trade_id, "%lld", in->trade_id);
    snprintf(price, sizeof price, "%.2f", in->trade_price);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    /* Frame 1: the trade, and what the account holds of the security. */
    params[0] = trade_id;
    res = PQexecParams(conn,
                       "SELECT t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash "
                       "FROM trade WHERE t_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(acct_id, sizeof acct_id, "%s", PQgetvalue(res, 0, 0));
    snprintf(type_id, sizeof type_id, "%s", PQgetvalue(res, 0, 1));
    snprintf(symbol, sizeof symbol, "%s", PQgetvalue(res, 0, 2));
    trade_qty = atoi(PQgetvalue(res, 0, 3));
    charge = atof(PQgetvalue(res, 0, 4));
    is_lifo = *PQgetvalue(res, 0, 5) == 't';
    is_cash = *PQgetvalue(res, 0, 6) == 't';
    PQclear(res);
    out->acct_id = atoi(acct_id);

    params[0] = type_id;
    res = PQexecParams(conn, "SELECT tt_name, tt_is_sell FROM trade_type WHERE tt_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(type_name, sizeof type_name, "%s", PQgetvalue(res, 0, 0));
    is_sell = *PQgetvalue(res, 0, 1) == 't';
    PQclear(res);

    params[0] = acct_id;
    params[1] = symbol;
    res = PQexecParams(conn,
                       "SELECT hs_qty FROM holding_summary "
                       "WHERE hs_ca_id = $1 AND hs_s_symb = $2 FOR UPDATE",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    hs_qty = PQntuples(res) == 0 ? 0 : atoi(PQgetvalue(res, 0, 0));
    PQclear(res);

    /* Frame 2: the holdings. A sale closes what was bought, a purchase what was sold short; what
     * remains of the trade is a holding of its own. */
    params[0] = acct_id;
    res = PQexecParams(conn,
                       "SELECT ca_b_id, ca_c_id, ca_tax_st FROM customer_account WHERE ca_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(broker_id, sizeof broker_id, "%s", PQgetvalue(res, 0, 0));
    snprintf(cust_id, sizeof cust_id, "%s", PQgetvalue(res, 0, 1));
    tax_status = atoi(PQgetvalue(res, 0, 2));
    PQclear(res);
    res = NULL;

    snprintf(change, sizeof change, "%d", is_sell ? -trade_qty : trade_qty);
    if (hs_qty == 0) {
        params[0] = acct_id;
        params[1] = symbol;
        params[2] = change;
        res = PQexecParams(conn,
                           "INSERT INTO holding_summary (hs_ca_id, hs_s_symb, hs_qty) "
                           "VALUES ($1, $2, $3)",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    } else if (hs_qty != (is_sell ? trade_qty : -trade_qty)) {
        params[0] = change;
        params[1] = acct_id;
        params[2] = symbol;
        res = PQexecParams(conn,
                           "UPDATE holding_summary SET hs_qty = hs_qty + $1 "
                           "WHERE hs_ca_id = $2 AND hs_s_symb = $3",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }
    res = NULL;

    out->buy_value = 0;
    out->sell_value = 0;
    needed_qty = trade_qty;
    if (is_sell ? hs_qty > 0 : hs_qty < 0) {
        params[0] = acct_id;
        params[1] = symbol;
        if (is_lifo)
            holdings = PQexecParams(conn,
                                    "SELECT h_t_id, h_qty, h_price FROM holding "
                                    "WHERE h_ca_id = $1 AND h_s_symb = $2 "
                                    "ORDER BY h_dts DESC FOR UPDATE",
                                    2, NULL, params, NULL, NULL, 0);
        else
            holdings = PQexecParams(conn,
                                    "SELECT h_t_id, h_qty, h_price FROM holding "
                                    "WHERE h_ca_id = $1 AND h_s_symb = $2 "
                                    "ORDER BY h_dts FOR UPDATE",
                                    2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(holdings) != PGRES_TUPLES_OK)
            goto fail;
        for (int i = 0; i < PQntuples(holdings) && needed_qty > 0; i++) {
            hold_id = PQgetvalue(holdings, i, 0);
            snprintf(before, sizeof before, "%s", PQgetvalue(holdings, i, 1));
            hold_price = atof(PQgetvalue(holdings, i, 2));
            hold_qty = abs(atoi(before));
            if (hold_qty > needed_qty) {
                /* A part of the holding. */
                snprintf(after, sizeof after, "%d",
                         is_sell ? hold_qty - needed_qty : needed_qty - hold_qty);
                hold_qty = needed_qty;
            } else {
                snprintf(after, sizeof after, "0");
            }

            params[0] = hold_id;
            params[1] = trade_id;
            params[2] = before;
            params[3] = after;
            res = PQexecParams(conn,
                               "INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, "
                               "hh_after_qty) VALUES ($1, $2, $3, $4)",
                               4, NULL, params, NULL, NULL, 0);
            if (PQresultStatus(res) != PGRES_COMMAND_OK)
                goto fail;
            PQclear(res);

            if (strcmp(after, "0") != 0) {
                params[0] = after;
                params[1] = hold_id;
                res = PQexecParams(conn, "UPDATE holding SET h_qty = $1 WHERE h_t_id = $2",
                                   2, NULL, params, NULL, NULL, 0);
            } else {
                params[0] = hold_id;
                res = PQexecParams(conn, "DELETE FROM holding WHERE h_t_id = $1",
                                   1, NULL, params, NULL, NULL, 0);
            }
            if (PQresultStatus(res) != PGRES_COMMAND_OK)
                goto fail;
            PQclear(res);
            res = NULL;

            if (is_sell) {
                out->buy_value += hold_qty * hold_price;
                out->sell_value += hold_qty * in->trade_price;
            } else {
                out->buy_value += hold_qty * in->trade_price;
                out->sell_value += hold_qty * hold_price;
            }
            needed_qty -= hold_qty;
        }
        PQclear(holdings);
        holdings = NULL;
    }

    if (needed_qty > 0) {
        snprintf(quantity, sizeof quantity, "%d", is_sell ? -needed_qty : needed_qty);
        params[0] = trade_id;
        params[1] = quantity;
        res = PQexecParams(conn,
                           "INSERT INTO holding_history (hh_h_t_id, hh_t_id, hh_before_qty, "
                           "hh_after_qty) VALUES ($1, $1, 0, $2)",
                           2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);

        params[0] = trade_id;
        params[1] = acct_id;
        params[2] = symbol;
        params[3] = price;
        params[4] = quantity;
        res = PQexecParams(conn,
                           "INSERT INTO holding (h_t_id, h_ca_id, h_s_symb, h_dts, h_price, "
                           "h_qty) VALUES ($1, $2, $3, CURRENT_TIMESTAMP, $4, $5)",
                           5, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    } else if (hs_qty == (is_sell ? trade_qty : -trade_qty)) {
        params[0] = acct_id;
        params[1] = symbol;
        res = PQexecParams(conn,
                           "DELETE FROM holding_summary WHERE hs_ca_id = $1 AND hs_s_symb = $2",
                           2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }
    res = NULL;

    /* Frame 3: the tax on a profit. */
    out->tax_amount = 0;
    if ((tax_status == 1 || tax_status == 2) && out->sell_value > out->buy_value) {
        params[0] = cust_id;
        res = PQexecParams(conn,
                           "SELECT sum(tx_rate) FROM taxrate "
                           "JOIN customer_taxrate ON cx_tx_id = tx_id WHERE cx_c_id = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        tax_rate = atof(PQgetvalue(res, 0, 0));
        PQclear(res);
        out->tax_amount = (out->sell_value - out->buy_value) * tax_rate;

        snprintf(tax, sizeof tax, "%.2f", out->tax_amount);
        params[0] = tax;
        params[1] = trade_id;
        res = PQexecParams(conn, "UPDATE trade SET t_tax = $1 WHERE t_id = $2",
                           2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }

    /* Frame 4: the commission. */
    params[0] = symbol;
    res = PQexecParams(conn, "SELECT s_ex_id, s_name FROM security WHERE s_symb = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(exch_id, sizeof exch_id, "%s", PQgetvalue(res, 0, 0));
    snprintf(s_name, sizeof s_name, "%s", PQgetvalue(res, 0, 1));
    PQclear(res);

    params[0] = cust_id;
    res = PQexecParams(conn, "SELECT c_tier FROM customer WHERE c_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(cust_tier, sizeof cust_tier, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);

    snprintf(quantity, sizeof quantity, "%d", trade_qty);
    params[0] = cust_tier;
    params[1] = type_id;
    params[2] = exch_id;
    params[3] = quantity;
    res = PQexecParams(conn,
                       "SELECT cr_rate FROM commission_rate WHERE cr_c_tier = $1 "
                       "AND cr_tt_id = $2 AND cr_ex_id = $3 "
                       "AND cr_from_qty <= $4 AND cr_to_qty >= $4",
                       4, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    comm_rate = atof(PQgetvalue(res, 0, 0));
    PQclear(res);
    out->comm_amount = comm_rate / 100 * trade_qty * in->trade_price;
    snprintf(comm, sizeof comm, "%.2f", out->comm_amount);

    /* Frame 5: the trade is completed, and the broker earns the commission. */
    params[0] = comm;
    params[1] = price;
    params[2] = trade_id;
    res = PQexecParams(conn,
                       "UPDATE trade SET t_comm = $1, t_dts = CURRENT_TIMESTAMP, "
                       "t_st_id = 'CMPT', t_trade_price = $2 WHERE t_id = $3",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[0] = trade_id;
    res = PQexecParams(conn,
                       "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) "
                       "VALUES ($1, CURRENT_TIMESTAMP, 'CMPT')",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[0] = comm;
    params[1] = broker_id;
    res = PQexecParams(conn,
                       "UPDATE broker SET b_comm_total = b_comm_total + $1, "
                       "b_num_trades = b_num_trades + 1 WHERE b_id = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    /* Frame 6: the settlement. */
    if (is_sell)
        settlement = trade_qty * in->trade_price - charge - out->comm_amount;
    else
        settlement = -(trade_qty * in->trade_price + charge + out->comm_amount);
    if (tax_status == 1)
        settlement -= out->tax_amount;
    snprintf(amount, sizeof amount, "%.2f", settlement);

    params[0] = trade_id;
    params[1] = is_cash ? "Cash Account" : "Margin";
    params[2] = amount;
    res = PQexecParams(conn,
                       "INSERT INTO settlement (se_t_id, se_cash_type, se_cash_due_date, se_amt) "
                       "VALUES ($1, $2, CURRENT_DATE + 2, $3)",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    if (is_cash) {
        params[0] = amount;
        params[1] = acct_id;
        res = PQexecParams(conn,
                           "UPDATE customer_account SET ca_bal = ca_bal + $1 WHERE ca_id = $2",
                           2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);

        snprintf(cash_name, sizeof cash_name, "%s %d shares of %.60s", type_name, trade_qty,
                 s_name);
        params[0] = trade_id;
        params[1] = amount;
        params[2] = cash_name;
        res = PQexecParams(conn,
                           "INSERT INTO cash_transaction (ct_t_id, ct_dts, ct_amt, ct_name) "
                           "VALUES ($1, CURRENT_TIMESTAMP, $2, $3)",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }

    params[0] = acct_id;
    res = PQexecParams(conn, "SELECT ca_bal FROM customer_account WHERE ca_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    out->acct_bal = atof(PQgetvalue(res, 0, 0));
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "trade result: %s", PQerrorMessage(conn));
    PQclear(holdings);
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
