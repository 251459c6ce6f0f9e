/* TPC-C payment over libpq, as one call of a stored function: procedure.sql, or
 * procedure-reordered.sql. */
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "payment.h"

int payment(PGconn *conn, const struct payment_input *in, struct payment_output *out)
{
    char w_id[12], d_id[12], c_w_id[12], c_d_id[12], c_id[12], amount[16];
    const char *const params[] = { w_id, d_id, c_w_id, c_d_id, c_id, in->c_last, amount };
    PGresult *res;

    snprintf(w_id, sizeof w_id, "%d", in->w_id);
    snprintf(d_id, sizeof d_id, "%d", in->d_id);
    snprintf(c_w_id, sizeof c_w_id, "%d", in->c_w_id);
    snprintf(c_d_id, sizeof c_d_id, "%d", in->c_d_id);
    snprintf(c_id, sizeof c_id, "%d", in->c_id);
    snprintf(amount, sizeof amount, "%.2f", in->h_amount);

    res = PQexecParams(conn, "SELECT * FROM payment($1, $2, $3, $4, $5, $6, $7)", 7, NULL, params,
                       NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1) {
        fprintf(stderr, "payment: %s", PQerrorMessage(conn));
        PQclear(res);
        return -1;
    }
    snprintf(out->w_name, sizeof out->w_name, "%s", PQgetvalue(res, 0, 0));
    snprintf(out->w_street_1, sizeof out->w_street_1, "%s", PQgetvalue(res, 0, 1));
    snprintf(out->w_street_2, sizeof out->w_street_2, "%s", PQgetvalue(res, 0, 2));
    snprintf(out->w_city, sizeof out->w_city, "%s", PQgetvalue(res, 0, 3));
    snprintf(out->w_state, sizeof out->w_state, "%s", PQgetvalue(res, 0, 4));
    snprintf(out->w_zip, sizeof out->w_zip, "%s", PQgetvalue(res, 0, 5));
    snprintf(out->d_name, sizeof out->d_name, "%s", PQgetvalue(res, 0, 6));
    snprintf(out->d_street_1, sizeof out->d_street_1, "%s", PQgetvalue(res, 0, 7));
    snprintf(out->d_street_2, sizeof out->d_street_2, "%s", PQgetvalue(res, 0, 8));
    snprintf(out->d_city, sizeof out->d_city, "%s", PQgetvalue(res, 0, 9));
    snprintf(out->d_state, sizeof out->d_state, "%s", PQgetvalue(res, 0, 10));
    snprintf(out->d_zip, sizeof out->d_zip, "%s", PQgetvalue(res, 0, 11));
    out->c_id = atoi(PQgetvalue(res, 0, 12));
    snprintf(out->c_first, sizeof out->c_first, "%s", PQgetvalue(res, 0, 13));
    snprintf(out->c_middle, sizeof out->c_middle, "%s", PQgetvalue(res, 0, 14));
    snprintf(out->c_last, sizeof out->c_last, "%s", PQgetvalue(res, 0, 15));
    snprintf(out->c_street_1, sizeof out->c_street_1, "%s", PQgetvalue(res, 0, 16));
    snprintf(out->c_street_2, sizeof out->c_street_2, "%s", PQgetvalue(res, 0, 17));
    snprintf(out->c_city, sizeof out->c_city, "%s", PQgetvalue(res, 0, 18));
    snprintf(out->c_state, sizeof out->c_state, "%s", PQgetvalue(res, 0, 19));
    snprintf(out->c_zip, sizeof out->c_zip, "%s", PQgetvalue(res, 0, 20));
    snprintf(out->c_phone, sizeof out->c_phone, "%s", PQgetvalue(res, 0, 21));
    snprintf(out->c_since, sizeof out->c_since, "%s", PQgetvalue(res, 0, 22));
    snprintf(out->c_credit, sizeof out->c_credit, "%s", PQgetvalue(res, 0, 23));
    out->c_credit_lim = atof(PQgetvalue(res, 0, 24));
    out->c_discount = atof(PQgetvalue(res, 0, 25));
    out->c_balance = atof(PQgetvalue(res, 0, 26));
    snprintf(out->c_data, sizeof out->c_data, "%s", PQgetvalue(res, 0, 27));
    PQclear(res);
    return 0;
}
