/* A bid over the client library of MariaDB, with SQL texts: a read without a lock shows the highest
 * bid, and the update of the item repeats the condition, so that it raises no price that another
 * user has raised further in between. */
#include <stdio.h>
#include <stdlib.h>

#include <mysql.h>

#include "bid.h"

int bid(MYSQL *conn, const struct bid_input *in, struct bid_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024];
    int status = -1;

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    /* The item and its highest bid. */
    snprintf(sql, sizeof sql, "SELECT i_name, i_max_bid, i_closed FROM item WHERE i_id = %d",
             in->item_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    if (atoi(row[2]) != 0) {
        status = BID_REFUSED;
        goto rollback;
    }
    snprintf(out->item_name, sizeof out->item_name, "%s", row[0]);
    out->max_bid = atof(row[1]);
    mysql_free_result(res);
    res = NULL;
    out->is_highest = in->amount > out->max_bid;
    if (out->is_highest)
        out->max_bid = in->amount;

    if (out->is_highest) {
        snprintf(sql, sizeof sql,
                 "UPDATE item SET i_max_bid = %.2f, i_max_u_id = %d, i_raises = i_raises + 1 "
                 "WHERE i_id = %d AND i_max_bid < %.2f AND NOT i_closed",
                 in->amount, in->user_id, in->item_id, in->amount);
        if (mysql_query(conn, sql) != 0)
            goto fail;
    }

    /* The user. */
    snprintf(sql, sizeof sql, "SELECT u_name, u_blocked FROM bidder WHERE u_id = %d", in->user_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    if (atoi(row[1]) != 0) {
        status = BID_REFUSED;
        goto rollback;
    }
    snprintf(out->user_name, sizeof out->user_name, "%s", row[0]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "UPDATE bidder SET u_bids = u_bids + 1, u_last_bid = %.2f WHERE u_id = %d",
             in->amount, in->user_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    snprintf(sql, sizeof sql,
             "INSERT INTO bid (b_i_id, b_u_id, b_amount, b_date) VALUES (%d, %d, %.2f, NOW())",
             in->item_id, in->user_id, in->amount);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "bid: %s\n", mysql_error(conn));
rollback:
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return status;
}
