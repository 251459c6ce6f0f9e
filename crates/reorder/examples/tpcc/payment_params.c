/* TPC-C payment over libpq, with parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "payment.h"

int payment(PGconn *conn, const struct payment_input *in, struct payment_output *out)
{
    PGresult *res;
    const char *params[8];
    char w_id[12], d_id[12], c_w_id[12], c_d_id[12], c_id[12];
    char amount[16], balance[24], h_data[32];
    int n;

    snprintf(w_id, sizeof w_id, "%d", in->w_id);
    snprintf(d_id, sizeof d_id, "%d", in->d_id);
    snprintf(c_w_id, sizeof c_w_id, "%d", in->c_w_id);
    snprintf(c_d_id, sizeof c_d_id, "%d", in->c_d_id);
    snprintf(amount, sizeof amount, "%.2f", in->h_amount);

    res = PQexec(conn, "BEGIN");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    /* The warehouse. */
    params[0] = amount;
    params[1] = w_id;
    res = PQexecParams(conn,
                       "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[0] = w_id;
    res = PQexecParams(conn,
                       "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip "
                       "FROM warehouse WHERE w_id = $1",
                       1, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(out->w_name, sizeof out->w_name, "%s", PQgetvalue(res, 0, 0));
    snprintf(out->w_street_1, sizeof out->w_street_1, "%s", PQgetvalue(res, 0, 1));
    snprintf(out->w_street_2, sizeof out->w_street_2, "%s", PQgetvalue(res, 0, 2));
    snprintf(out->w_city, sizeof out->w_city, "%s", PQgetvalue(res, 0, 3));
    snprintf(out->w_state, sizeof out->w_state, "%s", PQgetvalue(res, 0, 4));
    snprintf(out->w_zip, sizeof out->w_zip, "%s", PQgetvalue(res, 0, 5));
    PQclear(res);

    /* The district. */
    params[0] = amount;
    params[1] = w_id;
    params[2] = d_id;
    res = PQexecParams(conn,
                       "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    params[0] = w_id;
    params[1] = d_id;
    res = PQexecParams(conn,
                       "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip "
                       "FROM district WHERE d_w_id = $1 AND d_id = $2",
                       2, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(out->d_name, sizeof out->d_name, "%s", PQgetvalue(res, 0, 0));
    snprintf(out->d_street_1, sizeof out->d_street_1, "%s", PQgetvalue(res, 0, 1));
    snprintf(out->d_street_2, sizeof out->d_street_2, "%s", PQgetvalue(res, 0, 2));
    snprintf(out->d_city, sizeof out->d_city, "%s", PQgetvalue(res, 0, 3));
    snprintf(out->d_state, sizeof out->d_state, "%s", PQgetvalue(res, 0, 4));
    snprintf(out->d_zip, sizeof out->d_zip, "%s", PQgetvalue(res, 0, 5));
    PQclear(res);

    /* The customer, by number or by last name. Of several customers with the name, the one in the
     * middle counts. */
    if (in->c_id == 0) {
        params[0] = c_w_id;
        params[1] = c_d_id;
        params[2] = in->c_last;
        res = PQexecParams(conn,
                           "SELECT c_id FROM customer "
                           "WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK)
            goto fail;
        n = PQntuples(res);
        if (n == 0)
            goto fail;
        out->c_id = atoi(PQgetvalue(res, (n - 1) / 2, 0));
        PQclear(res);
    } else {
        out->c_id = in->c_id;
    }
    snprintf(c_id, sizeof c_id, "%d", out->c_id);

    params[0] = c_w_id;
    params[1] = c_d_id;
    params[2] = c_id;
    res = PQexecParams(conn,
                       "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, "
                       "c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, "
                       "c_balance FROM customer "
                       "WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE",
                       3, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
        goto fail;
    snprintf(out->c_first, sizeof out->c_first, "%s", PQgetvalue(res, 0, 0));
    snprintf(out->c_middle, sizeof out->c_middle, "%s", PQgetvalue(res, 0, 1));
    snprintf(out->c_last, sizeof out->c_last, "%s", PQgetvalue(res, 0, 2));
    snprintf(out->c_street_1, sizeof out->c_street_1, "%s", PQgetvalue(res, 0, 3));
    snprintf(out->c_street_2, sizeof out->c_street_2, "%s", PQgetvalue(res, 0, 4));
    snprintf(out->c_city, sizeof out->c_city, "%s", PQgetvalue(res, 0, 5));
    snprintf(out->c_state, sizeof out->c_state, "%s", PQgetvalue(res, 0, 6));
    snprintf(out->c_zip, sizeof out->c_zip, "%s", PQgetvalue(res, 0, 7));
    snprintf(out->c_phone, sizeof out->c_phone, "%s", PQgetvalue(res, 0, 8));
    snprintf(out->c_since, sizeof out->c_since, "%s", PQgetvalue(res, 0, 9));
    snprintf(out->c_credit, sizeof out->c_credit, "%s", PQgetvalue(res, 0, 10));
    out->c_credit_lim = atof(PQgetvalue(res, 0, 11));
    out->c_discount = atof(PQgetvalue(res, 0, 12));
    out->c_balance = atof(PQgetvalue(res, 0, 13)) - in->h_amount;
    PQclear(res);

    out->c_data[0] = '\0';
    snprintf(balance, sizeof balance, "%.2f", out->c_balance);
    if (strcmp(out->c_credit, "BC") == 0) {
        /* Bad credit: the payment is noted in the customer's data. */
        params[0] = c_w_id;
        params[1] = c_d_id;
        params[2] = c_id;
        res = PQexecParams(conn,
                           "SELECT c_data FROM customer "
                           "WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
                           3, NULL, params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        snprintf(out->c_data, sizeof out->c_data, "%s %s %s %s %s %s | %s", c_id, c_d_id, c_w_id,
                 d_id, w_id, amount, PQgetvalue(res, 0, 0));
        PQclear(res);

        params[0] = balance;
        params[1] = amount;
        params[2] = out->c_data;
        params[3] = c_w_id;
        params[4] = c_d_id;
        params[5] = c_id;
        res = PQexecParams(conn,
                           "UPDATE customer SET c_balance = $1, "
                           "c_ytd_payment = c_ytd_payment + $2, "
                           "c_payment_cnt = c_payment_cnt + 1, c_data = $3 "
                           "WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6",
                           6, NULL, params, NULL, NULL, 0);
    } else {
        params[0] = balance;
        params[1] = amount;
        params[2] = c_w_id;
        params[3] = c_d_id;
        params[4] = c_id;
        res = PQexecParams(conn,
                           "UPDATE customer SET c_balance = $1, "
                           "c_ytd_payment = c_ytd_payment + $2, "
                           "c_payment_cnt = c_payment_cnt + 1 "
                           "WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5",
                           5, NULL, params, NULL, NULL, 0);
    }
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    /* The history. */
    snprintf(h_data, sizeof h_data, "%s    %s", out->w_name, out->d_name);
    params[0] = c_id;
    params[1] = c_d_id;
    params[2] = c_w_id;
    params[3] = d_id;
    params[4] = w_id;
    params[5] = amount;
    params[6] = h_data;
    res = PQexecParams(conn,
                       "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, "
                       "h_amount, h_data) VALUES ($1, $2, $3, $4, $5, CURRENT_TIMESTAMP, $6, $7)",
                       7, NULL, params, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    return 0;

fail:
    fprintf(stderr, "payment: %s", PQerrorMessage(conn));
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
