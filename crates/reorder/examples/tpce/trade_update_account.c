/* TPC-E trade update, frame 2, over libpq, with parameters: corrects the settlements of the first
 * trades of an account. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "trade_update.h"

int trade_update(PGconn *conn, const struct trade_update_input *in,
                 struct trade_update_output *out)
{
    PGresult *res;
    const char *params[2];
    char acct_id[12], limit[12], trade_id[MAX_TRADES][24];
    const char *cash_type;

    memset(out, 0, sizeof *out);
    snprintf(acct_id, sizeof acct_id, "%d", in->acct_id);
    snprintf(limit, sizeof limit, "%d", in->max_trades);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[0] = acct_id;
    params[1] = limit;
    res = PQexecParams(conn,
                       "SELECT t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, "
                       "t_trade_price FROM trade JOIN trade_type ON tt_id = t_tt_id "
                       "WHERE t_ca_id = $1 AND t_st_id = 'CMPT' ORDER BY t_id LIMIT $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK)
        goto fail;
    for (int i = 0; i < PQntuples(res) && i < MAX_TRADES; i++) {
        snprintf(trade_id[i], sizeof trade_id[i], "%s", PQgetvalue(res, i, 0));
        out->trades[i].bid_price = atof(PQgetvalue(res, i, 1));
        snprintf(out->trades[i].exec_name, sizeof out->trades[i].exec_name, "%s",
                 PQgetvalue(res, i, 2));
        out->trades[i].is_cash = *PQgetvalue(res, i, 3) == 't';
        out->trades[i].is_market = *PQgetvalue(res, i, 4) == 't';
        out->trades[i].trade_price = atof(PQgetvalue(res, i, 5));
        out->num_found++;
    }
    PQclear(res);

    for (int i = 0; i < out->num_found; i++) {
        /* The correction: the way of payment gets another name. */
        if (i < in->max_updates) {
            params[0] = trade_id[i];
            res = PQexecParams(conn,
                               "SELECT se_cash_type FROM settlement WHERE se_t_id = $1 "
                               "FOR UPDATE",
                               1, NULL, params, NULL, NULL, 0);
            if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
                goto fail;
            if (out->trades[i].is_cash)
                cash_type = strcmp(PQgetvalue(res, 0, 0), "Cash Account") == 0 ? "Cash"
                                                                               : "Cash Account";
            else
                cash_type = strcmp(PQgetvalue(res, 0, 0), "Margin Account") == 0
                                ? "Margin"
                                : "Margin Account";
            PQclear(res);

            params[0] = cash_type;
            params[1] = trade_id[i];
            res = PQexecParams(conn,
                               "UPDATE settlement SET se_cash_type = $1 WHERE se_t_id = $2",
                               2, NULL, params, NULL, NULL, 0);
            if (PQresultStatus(res) != PGRES_COMMAND_OK)
                goto fail;
            PQclear(res);
            out->num_updated++;
        }

        params[0] = trade_id[i];
        res = PQexecParams(conn,
                           "SELECT se_amt, se_cash_due_date, se_cash_type FROM settlement "
                           "WHERE se_t_id = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK)
            goto fail;
        if (PQntuples(res) > 0) {
            out->trades[i].settlement_amount = atof(PQgetvalue(res, 0, 0));
            snprintf(out->trades[i].settlement_cash_due_date,
                     sizeof out->trades[i].settlement_cash_due_date, "%s", PQgetvalue(res, 0, 1));
            snprintf(out->trades[i].settlement_cash_type,
                     sizeof out->trades[i].settlement_cash_type, "%s", PQgetvalue(res, 0, 2));
        }
        PQclear(res);

        if (out->trades[i].is_cash) {
            params[0] = trade_id[i];
            res = PQexecParams(conn,
                               "SELECT ct_amt, ct_dts, ct_name FROM cash_transaction "
                               "WHERE ct_t_id = $1",
                               1, NULL, params, NULL, NULL, 0);
            if (PQresultStatus(res) != PGRES_TUPLES_OK)
                goto fail;
            if (PQntuples(res) > 0) {
                out->trades[i].cash_transaction_amount = atof(PQgetvalue(res, 0, 0));
                snprintf(out->trades[i].cash_transaction_dts,
                         sizeof out->trades[i].cash_transaction_dts, "%s", PQgetvalue(res, 0, 1));
                snprintf(out->trades[i].cash_transaction_name,
                         sizeof out->trades[i].cash_transaction_name, "%s", PQgetvalue(res, 0, 2));
            }
            PQclear(res);
        }

        params[0] = trade_id[i];
        res = PQexecParams(conn,
                           "SELECT th_dts, th_st_id FROM trade_history WHERE th_t_id = $1 "
                           "ORDER BY th_dts LIMIT 3",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK)
            goto fail;
        for (int j = 0; j < PQntuples(res) && j < MAX_HISTORY; j++) {
            snprintf(out->trades[i].history_dts[j], sizeof out->trades[i].history_dts[j], "%s",
                     PQgetvalue(res, j, 0));
            snprintf(out->trades[i].history_status_id[j],
                     sizeof out->trades[i].history_status_id[j], "%s", PQgetvalue(res, j, 1));
        }
        PQclear(res);
    }

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "trade update: %s", PQerrorMessage(conn));
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
