/* TPC-E trade order over libpq, with parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "trade_order.h"

int trade_order(PGconn *conn, const struct trade_order_input *in, struct trade_order_output *out)
{
    PGresult *res = NULL;
    const char *params[12];
    char acct_id[12], broker_id[12], cust_id[12], cust_tier[8], co_id[12];
    char exch_id[7], symbol[16], quantity[12], price[24], charge[24], comm[24];
    char trade_id[24], exec_name[48];
    double market_price, hold_price, tax_rate, hold_assets;
    int tax_status, is_market, is_sell, hold_qty, needed_qty, status = -1;

    snprintf(acct_id, sizeof acct_id, "%d", in->acct_id);
    snprintf(quantity, sizeof quantity, "%d", in->trade_qty);
    snprintf(exec_name, sizeof exec_name, "%s %s", in->exec_f_name, in->exec_l_name);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    /* Frame 1: the account, its customer and its broker. */
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

    params[0] = cust_id;
    res = PQexecParams(conn,
                       "SELECT c_f_name, c_l_name, c_tier FROM customer WHERE c_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(out->cust_f_name, sizeof out->cust_f_name, "%s", PQgetvalue(res, 0, 0));
    snprintf(out->cust_l_name, sizeof out->cust_l_name, "%s", PQgetvalue(res, 0, 1));
    snprintf(cust_tier, sizeof cust_tier, "%s", PQgetvalue(res, 0, 2));
    PQclear(res);

    params[0] = broker_id;
    res = PQexecParams(conn, "SELECT b_name FROM broker WHERE b_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(out->broker_name, sizeof out->broker_name, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);

    /* Frame 2: somebody other than the customer needs a permission. */
    if (strcmp(in->exec_l_name, out->cust_l_name) != 0 ||
        strcmp(in->exec_f_name, out->cust_f_name) != 0) {
        params[0] = acct_id;
        params[1] = in->exec_f_name;
        params[2] = in->exec_l_name;
        params[3] = in->exec_tax_id;
        res = PQexecParams(conn,
                           "SELECT ap_acl FROM account_permission WHERE ap_ca_id = $1 "
                           "AND ap_f_name = $2 AND ap_l_name = $3 AND ap_tax_id = $4",
                           4, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK)
            goto fail;
        if (PQntuples(res) == 0) {
            status = TRADE_ORDER_REFUSED;
            goto rollback;
        }
        PQclear(res);
    }

    /* Frame 3: the security, by company and issue or by symbol. */
    if (in->symbol[0] == '\0') {
        params[0] = in->co_name;
        res = PQexecParams(conn, "SELECT co_id FROM company WHERE co_name = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        snprintf(co_id, sizeof co_id, "%s", PQgetvalue(res, 0, 0));
        snprintf(out->co_name, sizeof out->co_name, "%s", in->co_name);
        PQclear(res);

        params[0] = co_id;
        params[1] = in->issue;
        res = PQexecParams(conn,
                           "SELECT s_ex_id, s_name, s_symb FROM security "
                           "WHERE s_co_id = $1 AND s_issue = $2",
                           2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        snprintf(exch_id, sizeof exch_id, "%s", PQgetvalue(res, 0, 0));
        snprintf(out->s_name, sizeof out->s_name, "%s", PQgetvalue(res, 0, 1));
        snprintf(symbol, sizeof symbol, "%s", PQgetvalue(res, 0, 2));
        PQclear(res);
    } else {
        snprintf(symbol, sizeof symbol, "%s", in->symbol);
        params[0] = symbol;
        res = PQexecParams(conn,
                           "SELECT s_co_id, s_ex_id, s_name FROM security WHERE s_symb = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        snprintf(co_id, sizeof co_id, "%s", PQgetvalue(res, 0, 0));
        snprintf(exch_id, sizeof exch_id, "%s", PQgetvalue(res, 0, 1));
        snprintf(out->s_name, sizeof out->s_name, "%s", PQgetvalue(res, 0, 2));
        PQclear(res);

        params[0] = co_id;
        res = PQexecParams(conn, "SELECT co_name FROM company WHERE co_id = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        snprintf(out->co_name, sizeof out->co_name, "%s", PQgetvalue(res, 0, 0));
        PQclear(res);
    }

    params[0] = symbol;
    res = PQexecParams(conn, "SELECT lt_price FROM last_trade WHERE lt_s_symb = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    market_price = atof(PQgetvalue(res, 0, 0));
    PQclear(res);

    params[0] = in->trade_type_id;
    res = PQexecParams(conn, "SELECT tt_is_mrkt, tt_is_sell FROM trade_type WHERE tt_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    is_market = *PQgetvalue(res, 0, 0) == 't';
    is_sell = *PQgetvalue(res, 0, 1) == 't';
    PQclear(res);
    out->requested_price = is_market ? market_price : in->requested_price;

    /* What the account holds of the security: the order may close some of it. */
    params[0] = acct_id;
    params[1] = symbol;
    res = PQexecParams(conn,
                       "SELECT hs_qty FROM holding_summary WHERE hs_ca_id = $1 AND hs_s_symb = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    hold_qty = PQntuples(res) == 0 ? 0 : atoi(PQgetvalue(res, 0, 0));
    PQclear(res);

    out->buy_value = 0;
    out->sell_value = 0;
    needed_qty = in->trade_qty;
    if ((is_sell && hold_qty > 0) || (!is_sell && hold_qty < 0)) {
        params[0] = acct_id;
        params[1] = symbol;
        if (in->is_lifo)
            res = PQexecParams(conn,
                               "SELECT h_qty, h_price FROM holding "
                               "WHERE h_ca_id = $1 AND h_s_symb = $2 ORDER BY h_dts DESC",
                               2, NULL, params, NULL, NULL, 0);
        else
            res = PQexecParams(conn,
                               "SELECT h_qty, h_price FROM holding "
                               "WHERE h_ca_id = $1 AND h_s_symb = $2 ORDER BY h_dts",
                               2, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK)
            goto fail;
        for (int i = 0; i < PQntuples(res) && needed_qty > 0; i++) {
            hold_qty = abs(atoi(PQgetvalue(res, i, 0)));
            hold_price = atof(PQgetvalue(res, i, 1));
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
        PQclear(res);
    }

    /* The tax on a profit. */
    out->tax_amount = 0;
    if (out->sell_value > out->buy_value && (tax_status == 1 || tax_status == 2)) {
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
    }

    /* Commission and charge. */
    params[0] = cust_tier;
    params[1] = in->trade_type_id;
    params[2] = exch_id;
    params[3] = quantity;
    res = PQexecParams(conn,
                       "SELECT cr_rate FROM commission_rate WHERE cr_c_tier = $1 "
                       "AND cr_tt_id = $2 AND cr_ex_id = $3 "
                       "AND cr_from_qty <= $4 AND cr_to_qty >= $4",
                       4, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    out->comm_rate = atof(PQgetvalue(res, 0, 0));
    PQclear(res);

    params[0] = in->trade_type_id;
    params[1] = cust_tier;
    res = PQexecParams(conn, "SELECT ch_chrg FROM charge WHERE ch_tt_id = $1 AND ch_c_tier = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    out->charge_amount = atof(PQgetvalue(res, 0, 0));
    PQclear(res);

    /* The assets of the account secure a trade on margin. */
    out->acct_assets = 0;
    if (in->type_is_margin) {
        params[0] = acct_id;
        res = PQexecParams(conn, "SELECT ca_bal FROM customer_account WHERE ca_id = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        out->acct_assets = atof(PQgetvalue(res, 0, 0));
        PQclear(res);

        res = PQexecParams(conn,
                           "SELECT sum(hs_qty * lt_price) FROM holding_summary "
                           "JOIN last_trade ON lt_s_symb = hs_s_symb WHERE hs_ca_id = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        hold_assets = PQgetisnull(res, 0, 0) ? 0 : atof(PQgetvalue(res, 0, 0));
        PQclear(res);
        out->acct_assets += hold_assets;
    }
    snprintf(out->status_id, sizeof out->status_id, "%s", is_market ? "SBMT" : "PNDG");

    /* Frame 4: the trade. */
    snprintf(price, sizeof price, "%.2f", out->requested_price);
    snprintf(charge, sizeof charge, "%.2f", out->charge_amount);
    snprintf(comm, sizeof comm, "%.2f",
             out->comm_rate / 100 * in->trade_qty * out->requested_price);
    params[0] = out->status_id;
    params[1] = in->trade_type_id;
    params[2] = in->type_is_margin ? "f" : "t";
    params[3] = symbol;
    params[4] = quantity;
    params[5] = price;
    params[6] = acct_id;
    params[7] = exec_name;
    params[8] = charge;
    params[9] = comm;
    params[10] = in->is_lifo ? "t" : "f";
    res = PQexecParams(conn,
                       "INSERT INTO trade (t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, "
                       "t_bid_price, t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, "
                       "t_lifo) VALUES (CURRENT_TIMESTAMP, $1, $2, $3, $4, $5, $6, $7, $8, NULL, "
                       "$9, $10, 0, $11) RETURNING t_id",
                       11, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(trade_id, sizeof trade_id, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);
    out->trade_id = atoll(trade_id);

    if (!is_market) {
        params[0] = trade_id;
        params[1] = in->trade_type_id;
        params[2] = symbol;
        params[3] = quantity;
        params[4] = price;
        params[5] = broker_id;
        res = PQexecParams(conn,
                           "INSERT INTO trade_request (tr_t_id, tr_tt_id, tr_s_symb, tr_qty, "
                           "tr_bid_price, tr_b_id) VALUES ($1, $2, $3, $4, $5, $6)",
                           6, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }

    params[0] = trade_id;
    params[1] = out->status_id;
    res = PQexecParams(conn,
                       "INSERT INTO trade_history (th_t_id, th_dts, th_st_id) "
                       "VALUES ($1, CURRENT_TIMESTAMP, $2)",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = NULL;

    /* Frame 5: a trial order ends here. */
    if (in->roll_it_back) {
        status = TRADE_ORDER_REFUSED;
        goto rollback;
    }

    /* Frame 6. */
    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "trade order: %s", PQerrorMessage(conn));
rollback:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return status;
}
