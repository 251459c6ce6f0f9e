/* TPC-E trade update over libpq, with parameters: the queries in the order of the specification.
 *
 * Each iteration reads the trade that it has just updated, and runs the other queries only if it
 * finds one. So no update can move behind them, not even if the numbers of the trades differ
 * (--distinct trade_id). trade_update_once.c reads each trade once: there the updates come last. */
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
    char trade_id[24], ex_name[65], new_name[72];
    char *mark;

    memset(out, 0, sizeof *out);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    for (int i = 0; i < in->max_trades; i++) {
        snprintf(trade_id, sizeof trade_id, "%lld", in->trade_id[i]);

        /* The correction: a middle initial comes or goes. */
        if (out->num_updated < in->max_updates) {
            params[0] = trade_id;
            res = PQexecParams(conn, "SELECT t_exec_name FROM trade WHERE t_id = $1 FOR UPDATE",
                               1, NULL, params, NULL, NULL, 0);
            if (PQresultStatus(res) != PGRES_TUPLES_OK)
                goto fail;
            if (PQntuples(res) == 0) {
                PQclear(res);
                continue;
            }
            snprintf(ex_name, sizeof ex_name, "%s", PQgetvalue(res, 0, 0));
            PQclear(res);

            if ((mark = strstr(ex_name, " X ")) != NULL)
                snprintf(new_name, sizeof new_name, "%.*s %s", (int)(mark - ex_name), ex_name,
                         mark + 3);
            else if ((mark = strchr(ex_name, ' ')) != NULL)
                snprintf(new_name, sizeof new_name, "%.*s X %s", (int)(mark - ex_name), ex_name,
                         mark + 1);
            else
                snprintf(new_name, sizeof new_name, "%s", ex_name);

            params[0] = new_name;
            params[1] = trade_id;
            res = PQexecParams(conn, "UPDATE trade SET t_exec_name = $1 WHERE t_id = $2",
                               2, NULL, params, NULL, NULL, 0);
            if (PQresultStatus(res) != PGRES_COMMAND_OK)
                goto fail;
            PQclear(res);
            out->num_updated++;
        }

        /* The trade, its settlement, its payment and its history. */
        params[0] = trade_id;
        res = PQexecParams(conn,
                           "SELECT t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, "
                           "t_trade_price FROM trade JOIN trade_type ON tt_id = t_tt_id "
                           "WHERE t_id = $1",
                           1, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK)
            goto fail;
        if (PQntuples(res) == 0) {
            PQclear(res);
            continue;
        }
        out->trades[i].bid_price = atof(PQgetvalue(res, 0, 0));
        snprintf(out->trades[i].exec_name, sizeof out->trades[i].exec_name, "%s",
                 PQgetvalue(res, 0, 1));
        out->trades[i].is_cash = *PQgetvalue(res, 0, 2) == 't';
        out->trades[i].is_market = *PQgetvalue(res, 0, 3) == 't';
        out->trades[i].trade_price = atof(PQgetvalue(res, 0, 4));
        PQclear(res);
        out->num_found++;

        params[0] = trade_id;
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
            params[0] = trade_id;
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

        params[0] = trade_id;
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
