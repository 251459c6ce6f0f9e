/* A bid over libpq, with parameters: a read without a lock shows the highest bid, and the update of
 * the item repeats the condition, so that it raises no price that another user has raised further
 * in between. */
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "bid.h"

int bid(PGconn *conn, const struct bid_input *in, struct bid_output *out)
{
    PGresult *res;
    const char *params[3];
    char user_id[12], item_id[12], amount[24];
    int status = -1;

    snprintf(user_id, sizeof user_id, "%d", in->user_id);
    snprintf(item_id, sizeof item_id, "%d", in->item_id);
    snprintf(amount, sizeof amount, "%.2f", in->amount);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    /* The item and its highest bid. */
    params[0] = item_id;
    res = PQexecParams(conn,
                       "SELECT i_name, i_max_bid, i_closed FROM item WHERE i_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    if (*PQgetvalue(res, 0, 2) == 't') {
        status = BID_REFUSED;
        goto rollback;
    }
    snprintf(out->item_name, sizeof out->item_name, "%s", PQgetvalue(res, 0, 0));
    out->max_bid = atof(PQgetvalue(res, 0, 1));
    PQclear(res);
    out->is_highest = in->amount > out->max_bid;
    if (out->is_highest)
        out->max_bid = in->amount;

    if (out->is_highest) {
        params[0] = amount;
        params[1] = user_id;
        params[2] = item_id;
        res = PQexecParams(conn,
                           "UPDATE item SET i_max_bid = $1, i_max_u_id = $2, "
                           "i_raises = i_raises + 1 "
                           "WHERE i_id = $3 AND i_max_bid < $1 AND NOT i_closed",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }

    /* The user. */
    params[0] = user_id;
    res = PQexecParams(conn, "SELECT u_name, u_blocked FROM bidder WHERE u_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    if (*PQgetvalue(res, 0, 1) == 't') {
        status = BID_REFUSED;
        goto rollback;
    }
    snprintf(out->user_name, sizeof out->user_name, "%s", PQgetvalue(res, 0, 0));
    PQclear(res);

    params[0] = amount;
    params[1] = user_id;
    res = PQexecParams(conn,
                       "UPDATE bidder SET u_bids = u_bids + 1, u_last_bid = $1 WHERE u_id = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[0] = item_id;
    params[1] = user_id;
    params[2] = amount;
    res = PQexecParams(conn,
                       "INSERT INTO bid (b_i_id, b_u_id, b_amount, b_date) "
                       "VALUES ($1, $2, $3, CURRENT_TIMESTAMP)",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "bid: %s", PQerrorMessage(conn));
rollback:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return status;
}
