/* TPC-C payment over libpq, with prepared statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "payment.h"

static int prepare(PGconn *conn, const char *name, const char *sql)
{
    PGresult *res = PQprepare(conn, name, sql, 0, NULL);
    int ok = PQresultStatus(res) == PGRES_COMMAND_OK;

    PQclear(res);
    return ok ? 0 : -1;
}

int payment_prepare(PGconn *conn)
{
    if (prepare(conn, "pay_warehouse",
                "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2") != 0)
        return -1;
    if (prepare(conn, "get_warehouse",
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip "
                "FROM warehouse WHERE w_id = $1") != 0)
        return -1;
    if (prepare(conn, "pay_district",
                "UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3") != 0)
        return -1;
    if (prepare(conn, "get_district",
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip "
                "FROM district WHERE d_w_id = $1 AND d_id = $2") != 0)
        return -1;
    if (prepare(conn, "find_customers",
                "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 "
                "ORDER BY c_first") != 0)
        return -1;
    if (prepare(conn, "get_customer",
                "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, "
                "c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance "
                "FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3 FOR UPDATE") != 0)
        return -1;
    if (prepare(conn, "get_data",
                "SELECT c_data FROM customer WHERE c_w_id = $1 AND c_d_id = $2 "
                "AND c_id = $3") != 0)
        return -1;
    if (prepare(conn, "pay_customer",
                "UPDATE customer SET c_balance = $4, c_ytd_payment = c_ytd_payment + $5, "
                "c_payment_cnt = c_payment_cnt + 1 "
                "WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3") != 0)
        return -1;
    if (prepare(conn, "pay_customer_data",
                "UPDATE customer SET c_balance = $4, c_ytd_payment = c_ytd_payment + $5, "
                "c_payment_cnt = c_payment_cnt + 1, c_data = $6 "
                "WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3") != 0)
        return -1;
    if (prepare(conn, "add_history",
                "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, "
                "h_amount, h_data) VALUES ($1, $2, $3, $4, $5, CURRENT_TIMESTAMP, $6, $7)") != 0)
        return -1;
    return 0;
}

int payment(PGconn *conn, const struct payment_input *in, struct payment_output *out)
{
    char w_id[12], d_id[12], c_w_id[12], c_d_id[12], c_id[12];
    char amount[16], balance[24], h_data[32];
    const char *values[7];
    PGresult *res = NULL;
    int middle;

    sprintf(w_id, "%d", in->w_id);
    sprintf(d_id, "%d", in->d_id);
    sprintf(c_w_id, "%d", in->c_w_id);
    sprintf(c_d_id, "%d", in->c_d_id);
    snprintf(amount, sizeof amount, "%.2f", in->h_amount);

    PQclear(PQexec(conn, "BEGIN"));

    values[0] = amount;
    values[1] = w_id;
    res = PQexecPrepared(conn, "pay_warehouse", 2, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto rollback;
    PQclear(res);

    values[0] = w_id;
    res = PQexecPrepared(conn, "get_warehouse", 1, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) == 0)
        goto rollback;
    strcpy(out->w_name, PQgetvalue(res, 0, 0));
    strcpy(out->w_street_1, PQgetvalue(res, 0, 1));
    strcpy(out->w_street_2, PQgetvalue(res, 0, 2));
    strcpy(out->w_city, PQgetvalue(res, 0, 3));
    strcpy(out->w_state, PQgetvalue(res, 0, 4));
    strcpy(out->w_zip, PQgetvalue(res, 0, 5));
    PQclear(res);

    values[0] = amount;
    values[1] = w_id;
    values[2] = d_id;
    res = PQexecPrepared(conn, "pay_district", 3, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto rollback;
    PQclear(res);

    values[0] = w_id;
    values[1] = d_id;
    res = PQexecPrepared(conn, "get_district", 2, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) == 0)
        goto rollback;
    strcpy(out->d_name, PQgetvalue(res, 0, 0));
    strcpy(out->d_street_1, PQgetvalue(res, 0, 1));
    strcpy(out->d_street_2, PQgetvalue(res, 0, 2));
    strcpy(out->d_city, PQgetvalue(res, 0, 3));
    strcpy(out->d_state, PQgetvalue(res, 0, 4));
    strcpy(out->d_zip, PQgetvalue(res, 0, 5));
    PQclear(res);

    values[0] = c_w_id;
    values[1] = c_d_id;
    if (in->c_id != 0) {
        sprintf(c_id, "%d", in->c_id);
    } else {
        values[2] = in->c_last;
        res = PQexecPrepared(conn, "find_customers", 3, values, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) == 0)
            goto rollback;
        middle = (PQntuples(res) - 1) / 2;
        snprintf(c_id, sizeof c_id, "%s", PQgetvalue(res, middle, 0));
        PQclear(res);
    }
    out->c_id = atoi(c_id);

    values[2] = c_id;
    res = PQexecPrepared(conn, "get_customer", 3, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) == 0)
        goto rollback;
    strcpy(out->c_first, PQgetvalue(res, 0, 0));
    strcpy(out->c_middle, PQgetvalue(res, 0, 1));
    strcpy(out->c_last, PQgetvalue(res, 0, 2));
    strcpy(out->c_street_1, PQgetvalue(res, 0, 3));
    strcpy(out->c_street_2, PQgetvalue(res, 0, 4));
    strcpy(out->c_city, PQgetvalue(res, 0, 5));
    strcpy(out->c_state, PQgetvalue(res, 0, 6));
    strcpy(out->c_zip, PQgetvalue(res, 0, 7));
    strcpy(out->c_phone, PQgetvalue(res, 0, 8));
    strcpy(out->c_since, PQgetvalue(res, 0, 9));
    strcpy(out->c_credit, PQgetvalue(res, 0, 10));
    out->c_credit_lim = strtod(PQgetvalue(res, 0, 11), NULL);
    out->c_discount = strtod(PQgetvalue(res, 0, 12), NULL);
    out->c_balance = strtod(PQgetvalue(res, 0, 13), NULL) - in->h_amount;
    PQclear(res);

    snprintf(balance, sizeof balance, "%.2f", out->c_balance);
    out->c_data[0] = '\0';
    if (strcmp(out->c_credit, "BC") == 0) {
        res = PQexecPrepared(conn, "get_data", 3, values, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) == 0)
            goto rollback;
        snprintf(out->c_data, sizeof out->c_data, "%s %s %s %s %s %s | %s", c_id, c_d_id, c_w_id,
                 d_id, w_id, amount, PQgetvalue(res, 0, 0));
        PQclear(res);
    }
    values[3] = balance;
    values[4] = amount;
    values[5] = out->c_data;
    if (out->c_data[0] != '\0')
        res = PQexecPrepared(conn, "pay_customer_data", 6, values, NULL, NULL, 0);
    else
        res = PQexecPrepared(conn, "pay_customer", 5, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto rollback;
    PQclear(res);

    sprintf(h_data, "%s    %s", out->w_name, out->d_name);
    values[0] = c_id;
    values[1] = c_d_id;
    values[2] = c_w_id;
    values[3] = d_id;
    values[4] = w_id;
    values[5] = amount;
    values[6] = h_data;
    res = PQexecPrepared(conn, "add_history", 7, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto rollback;
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto rollback;
    PQclear(res);
    return 0;

rollback:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
