/* TPC-E trade update over the client library of MariaDB, with SQL texts: the queries in the order
 * of the specification. No update can move: see ../trade_update.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "trade_update.h"

int trade_update(MYSQL *conn, const struct trade_update_input *in,
                 struct trade_update_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024], ex_name[65], new_name[72], escaped[144];
    char *mark;

    memset(out, 0, sizeof *out);

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    for (int i = 0; i < in->max_trades; i++) {
        /* The correction: a middle initial comes or goes. */
        if (out->num_updated < in->max_updates) {
            snprintf(sql, sizeof sql,
                     "SELECT t_exec_name FROM trade WHERE t_id = %lld FOR UPDATE",
                     in->trade_id[i]);
            if (mysql_query(conn, sql) != 0)
                goto fail;
            res = mysql_store_result(conn);
            if (res == NULL)
                goto fail;
            if ((row = mysql_fetch_row(res)) == NULL) {
                mysql_free_result(res);
                res = NULL;
                continue;
            }
            snprintf(ex_name, sizeof ex_name, "%s", row[0]);
            mysql_free_result(res);
            res = NULL;

            if ((mark = strstr(ex_name, " X ")) != NULL)
                snprintf(new_name, sizeof new_name, "%.*s %s", (int)(mark - ex_name), ex_name,
                         mark + 3);
            else if ((mark = strchr(ex_name, ' ')) != NULL)
                snprintf(new_name, sizeof new_name, "%.*s X %s", (int)(mark - ex_name), ex_name,
                         mark + 1);
            else
                snprintf(new_name, sizeof new_name, "%s", ex_name);

            mysql_real_escape_string(conn, escaped, new_name, strlen(new_name));
            snprintf(sql, sizeof sql,
                     "UPDATE trade SET t_exec_name = '%s' WHERE t_id = %lld",
                     escaped, in->trade_id[i]);
            if (mysql_query(conn, sql) != 0)
                goto fail;
            out->num_updated++;
        }

        /* The trade, its settlement, its payment and its history. */
        snprintf(sql, sizeof sql,
                 "SELECT t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price FROM "
                 "trade JOIN trade_type ON tt_id = t_tt_id WHERE t_id = %lld",
                 in->trade_id[i]);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL)
            goto fail;
        if ((row = mysql_fetch_row(res)) == NULL) {
            mysql_free_result(res);
            res = NULL;
            continue;
        }
        out->trades[i].bid_price = atof(row[0]);
        snprintf(out->trades[i].exec_name, sizeof out->trades[i].exec_name, "%s",
                 row[1]);
        out->trades[i].is_cash = atoi(row[2]);
        out->trades[i].is_market = atoi(row[3]);
        out->trades[i].trade_price = row[4] == NULL ? 0 : atof(row[4]);
        mysql_free_result(res);
        res = NULL;
        out->num_found++;

        snprintf(sql, sizeof sql,
                 "SELECT se_amt, se_cash_due_date, se_cash_type FROM settlement WHERE se_t_id = "
                 "%lld",
                 in->trade_id[i]);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL)
            goto fail;
        if ((row = mysql_fetch_row(res)) != NULL) {
            out->trades[i].settlement_amount = atof(row[0]);
            snprintf(out->trades[i].settlement_cash_due_date,
                     sizeof out->trades[i].settlement_cash_due_date, "%s", row[1]);
            snprintf(out->trades[i].settlement_cash_type,
                     sizeof out->trades[i].settlement_cash_type, "%s", row[2]);
        }
        mysql_free_result(res);
        res = NULL;

        if (out->trades[i].is_cash) {
            snprintf(sql, sizeof sql,
                     "SELECT ct_amt, ct_dts, ct_name FROM cash_transaction WHERE ct_t_id = %lld",
                     in->trade_id[i]);
            if (mysql_query(conn, sql) != 0)
                goto fail;
            res = mysql_store_result(conn);
            if (res == NULL)
                goto fail;
            if ((row = mysql_fetch_row(res)) != NULL) {
                out->trades[i].cash_transaction_amount = atof(row[0]);
                snprintf(out->trades[i].cash_transaction_dts,
                         sizeof out->trades[i].cash_transaction_dts, "%s", row[1]);
                snprintf(out->trades[i].cash_transaction_name,
                         sizeof out->trades[i].cash_transaction_name, "%s", row[2]);
            }
            mysql_free_result(res);
            res = NULL;
        }

        snprintf(sql, sizeof sql,
                 "SELECT th_dts, th_st_id FROM trade_history WHERE th_t_id = %lld ORDER BY th_dts "
                 "LIMIT 3",
                 in->trade_id[i]);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL)
            goto fail;
        for (int j = 0; j < MAX_HISTORY && (row = mysql_fetch_row(res)) != NULL; j++) {
            snprintf(out->trades[i].history_dts[j], sizeof out->trades[i].history_dts[j], "%s",
                     row[0]);
            snprintf(out->trades[i].history_status_id[j],
                     sizeof out->trades[i].history_status_id[j], "%s", row[1]);
        }
        mysql_free_result(res);
        res = NULL;
    }

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "trade update: %s\n", mysql_error(conn));
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return -1;
}
