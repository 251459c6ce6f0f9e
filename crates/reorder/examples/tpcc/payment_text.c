/* TPC-C payment over libpq, with SQL texts that are made for each query. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libpq-fe.h>

#include "payment.h"

/* Returns 1, after freeing the result and a message, if a query did not end as expected. */
static int failed(PGresult *res, ExecStatusType expected)
{
    if (PQresultStatus(res) == expected)
        return 0;
    fprintf(stderr, "payment: %s", PQresultErrorMessage(res));
    PQclear(res);
    return 1;
}

static int rollback(PGconn *conn)
{
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}

static void get_text(const PGresult *res, int column, char *text, size_t size)
{
    snprintf(text, size, "%s", PQgetvalue(res, 0, column));
}

/* Copies a text without null bytes and doubles its quotes. */
static void quote(char *to, size_t size, const char *from)
{
    size_t length = 0;

    for (; *from != '\0' && length + 2 < size; from++) {
        if (*from == '\'')
            to[length++] = '\'';
        to[length++] = *from;
    }
    to[length] = '\0';
}

int payment(PGconn *conn, const struct payment_input *in, struct payment_output *out)
{
    char sql[2048];
    char name[40], data[1010], history[64];
    PGresult *res;
    int n;

    res = PQexec(conn, "BEGIN");
    if (failed(res, PGRES_COMMAND_OK))
        return -1;
    PQclear(res);

    snprintf(sql, sizeof sql, "UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d",
             in->h_amount, in->w_id);
    res = PQexec(conn, sql);
    if (failed(res, PGRES_COMMAND_OK))
        return rollback(conn);
    PQclear(res);

    snprintf(sql, sizeof sql,
             "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse "
             "WHERE w_id = %d", in->w_id);
    res = PQexec(conn, sql);
    if (failed(res, PGRES_TUPLES_OK))
        return rollback(conn);
    if (PQntuples(res) != 1) {
        PQclear(res);
        return rollback(conn);
    }
    get_text(res, 0, out->w_name, sizeof out->w_name);
    get_text(res, 1, out->w_street_1, sizeof out->w_street_1);
    get_text(res, 2, out->w_street_2, sizeof out->w_street_2);
    get_text(res, 3, out->w_city, sizeof out->w_city);
    get_text(res, 4, out->w_state, sizeof out->w_state);
    get_text(res, 5, out->w_zip, sizeof out->w_zip);
    PQclear(res);

    snprintf(sql, sizeof sql,
             "UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d",
             in->h_amount, in->w_id, in->d_id);
    res = PQexec(conn, sql);
    if (failed(res, PGRES_COMMAND_OK))
        return rollback(conn);
    PQclear(res);

    snprintf(sql, sizeof sql,
             "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district "
             "WHERE d_w_id = %d AND d_id = %d", in->w_id, in->d_id);
    res = PQexec(conn, sql);
    if (failed(res, PGRES_TUPLES_OK))
        return rollback(conn);
    if (PQntuples(res) != 1) {
        PQclear(res);
        return rollback(conn);
    }
    get_text(res, 0, out->d_name, sizeof out->d_name);
    get_text(res, 1, out->d_street_1, sizeof out->d_street_1);
    get_text(res, 2, out->d_street_2, sizeof out->d_street_2);
    get_text(res, 3, out->d_city, sizeof out->d_city);
    get_text(res, 4, out->d_state, sizeof out->d_state);
    get_text(res, 5, out->d_zip, sizeof out->d_zip);
    PQclear(res);

    out->c_id = in->c_id;
    if (in->c_id == 0) {
        quote(name, sizeof name, in->c_last);
        snprintf(sql, sizeof sql,
                 "SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' "
                 "ORDER BY c_first", in->c_w_id, in->c_d_id, name);
        res = PQexec(conn, sql);
        if (failed(res, PGRES_TUPLES_OK))
            return rollback(conn);
        n = PQntuples(res);
        if (n == 0) {
            PQclear(res);
            return rollback(conn);
        }
        out->c_id = atoi(PQgetvalue(res, (n - 1) / 2, 0));
        PQclear(res);
    }

    snprintf(sql, sizeof sql,
             "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, "
             "c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer "
             "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE",
             in->c_w_id, in->c_d_id, out->c_id);
    res = PQexec(conn, sql);
    if (failed(res, PGRES_TUPLES_OK))
        return rollback(conn);
    if (PQntuples(res) != 1) {
        PQclear(res);
        return rollback(conn);
    }
    get_text(res, 0, out->c_first, sizeof out->c_first);
    get_text(res, 1, out->c_middle, sizeof out->c_middle);
    get_text(res, 2, out->c_last, sizeof out->c_last);
    get_text(res, 3, out->c_street_1, sizeof out->c_street_1);
    get_text(res, 4, out->c_street_2, sizeof out->c_street_2);
    get_text(res, 5, out->c_city, sizeof out->c_city);
    get_text(res, 6, out->c_state, sizeof out->c_state);
    get_text(res, 7, out->c_zip, sizeof out->c_zip);
    get_text(res, 8, out->c_phone, sizeof out->c_phone);
    get_text(res, 9, out->c_since, sizeof out->c_since);
    get_text(res, 10, out->c_credit, sizeof out->c_credit);
    out->c_credit_lim = atof(PQgetvalue(res, 0, 11));
    out->c_discount = atof(PQgetvalue(res, 0, 12));
    out->c_balance = atof(PQgetvalue(res, 0, 13)) - in->h_amount;
    PQclear(res);

    out->c_data[0] = '\0';
    if (strcmp(out->c_credit, "BC") == 0) {
        snprintf(sql, sizeof sql,
                 "SELECT c_data FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
                 in->c_w_id, in->c_d_id, out->c_id);
        res = PQexec(conn, sql);
        if (failed(res, PGRES_TUPLES_OK))
            return rollback(conn);
        if (PQntuples(res) != 1) {
            PQclear(res);
            return rollback(conn);
        }
        snprintf(out->c_data, sizeof out->c_data, "%d %d %d %d %d %.2f | %s", out->c_id,
                 in->c_d_id, in->c_w_id, in->d_id, in->w_id, in->h_amount,
                 PQgetvalue(res, 0, 0));
        PQclear(res);

        quote(data, sizeof data, out->c_data);
        snprintf(sql, sizeof sql,
                 "UPDATE customer SET c_balance = %.2f, c_ytd_payment = c_ytd_payment + %.2f, "
                 "c_payment_cnt = c_payment_cnt + 1, c_data = '%s' "
                 "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
                 out->c_balance, in->h_amount, data, in->c_w_id, in->c_d_id, out->c_id);
    } else {
        snprintf(sql, sizeof sql,
                 "UPDATE customer SET c_balance = %.2f, c_ytd_payment = c_ytd_payment + %.2f, "
                 "c_payment_cnt = c_payment_cnt + 1 "
                 "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
                 out->c_balance, in->h_amount, in->c_w_id, in->c_d_id, out->c_id);
    }
    res = PQexec(conn, sql);
    if (failed(res, PGRES_COMMAND_OK))
        return rollback(conn);
    PQclear(res);

    snprintf(history, sizeof history, "%s    %s", out->w_name, out->d_name);
    quote(data, sizeof data, history);
    snprintf(sql, sizeof sql,
             "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, "
             "h_data) VALUES (%d, %d, %d, %d, %d, CURRENT_TIMESTAMP, %.2f, '%s')",
             out->c_id, in->c_d_id, in->c_w_id, in->d_id, in->w_id, in->h_amount, data);
    res = PQexec(conn, sql);
    if (failed(res, PGRES_COMMAND_OK))
        return rollback(conn);
    PQclear(res);

    res = PQexec(conn, "COMMIT");
    if (failed(res, PGRES_COMMAND_OK))
        return rollback(conn);
    PQclear(res);
    return 0;
}
