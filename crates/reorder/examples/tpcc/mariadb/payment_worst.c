/* TPC-C payment over the client library of MariaDB, with SQL texts, in the worst order: the rows
 * that most transactions write are locked first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "payment.h"

int payment(MYSQL *conn, const struct payment_input *in, struct payment_output *out)
{
    char sql[2048];
    char name[40], data[1010], history[64];
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    unsigned long long n;

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    /* The sums of the warehouse and of the district. */
    snprintf(sql, sizeof sql, "UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d",
             in->h_amount, in->w_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    snprintf(sql, sizeof sql,
             "UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d",
             in->h_amount, in->w_id, in->d_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    /* The customer, by number or by last name. Of several customers with the name, the one in the
     * middle counts. */
    if (in->c_id == 0) {
        mysql_real_escape_string(conn, name, in->c_last, strlen(in->c_last));
        snprintf(sql, sizeof sql,
                 "SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' "
                 "ORDER BY c_first", in->c_w_id, in->c_d_id, name);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL)
            goto fail;
        n = mysql_num_rows(res);
        if (n == 0)
            goto fail;
        mysql_data_seek(res, (n - 1) / 2);
        row = mysql_fetch_row(res);
        out->c_id = atoi(row[0]);
        mysql_free_result(res);
        res = NULL;
    } else {
        out->c_id = in->c_id;
    }

    snprintf(sql, sizeof sql,
             "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, "
             "c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer "
             "WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE",
             in->c_w_id, in->c_d_id, out->c_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    snprintf(out->c_first, sizeof out->c_first, "%s", row[0]);
    snprintf(out->c_middle, sizeof out->c_middle, "%s", row[1]);
    snprintf(out->c_last, sizeof out->c_last, "%s", row[2]);
    snprintf(out->c_street_1, sizeof out->c_street_1, "%s", row[3]);
    snprintf(out->c_street_2, sizeof out->c_street_2, "%s", row[4]);
    snprintf(out->c_city, sizeof out->c_city, "%s", row[5]);
    snprintf(out->c_state, sizeof out->c_state, "%s", row[6]);
    snprintf(out->c_zip, sizeof out->c_zip, "%s", row[7]);
    snprintf(out->c_phone, sizeof out->c_phone, "%s", row[8]);
    snprintf(out->c_since, sizeof out->c_since, "%s", row[9]);
    snprintf(out->c_credit, sizeof out->c_credit, "%s", row[10]);
    out->c_credit_lim = atof(row[11]);
    out->c_discount = atof(row[12]);
    out->c_balance = atof(row[13]) - in->h_amount;
    mysql_free_result(res);
    res = NULL;

    out->c_data[0] = '\0';
    if (strcmp(out->c_credit, "BC") == 0) {
        /* Bad credit: the payment is noted in the customer's data. */
        snprintf(sql, sizeof sql,
                 "SELECT c_data FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d "
                 "FOR UPDATE",
                 in->c_w_id, in->c_d_id, out->c_id);
        if (mysql_query(conn, sql) != 0)
            goto fail;
        res = mysql_store_result(conn);
        if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
            goto fail;
        snprintf(out->c_data, sizeof out->c_data, "%d %d %d %d %d %.2f | %s", out->c_id,
                 in->c_d_id, in->c_w_id, in->d_id, in->w_id, in->h_amount, row[0]);
        mysql_free_result(res);
        res = NULL;

        mysql_real_escape_string(conn, data, out->c_data, strlen(out->c_data));
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
    if (mysql_query(conn, sql) != 0)
        goto fail;

    /* The names of the warehouse and of the district. */
    snprintf(sql, sizeof sql,
             "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip "
             "FROM warehouse WHERE w_id = %d", in->w_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    snprintf(out->w_name, sizeof out->w_name, "%s", row[0]);
    snprintf(out->w_street_1, sizeof out->w_street_1, "%s", row[1]);
    snprintf(out->w_street_2, sizeof out->w_street_2, "%s", row[2]);
    snprintf(out->w_city, sizeof out->w_city, "%s", row[3]);
    snprintf(out->w_state, sizeof out->w_state, "%s", row[4]);
    snprintf(out->w_zip, sizeof out->w_zip, "%s", row[5]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip "
             "FROM district WHERE d_w_id = %d AND d_id = %d", in->w_id, in->d_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    snprintf(out->d_name, sizeof out->d_name, "%s", row[0]);
    snprintf(out->d_street_1, sizeof out->d_street_1, "%s", row[1]);
    snprintf(out->d_street_2, sizeof out->d_street_2, "%s", row[2]);
    snprintf(out->d_city, sizeof out->d_city, "%s", row[3]);
    snprintf(out->d_state, sizeof out->d_state, "%s", row[4]);
    snprintf(out->d_zip, sizeof out->d_zip, "%s", row[5]);
    mysql_free_result(res);
    res = NULL;

    /* The history. */
    snprintf(history, sizeof history, "%s    %s", out->w_name, out->d_name);
    mysql_real_escape_string(conn, data, history, strlen(history));
    snprintf(sql, sizeof sql,
             "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, "
             "h_data) VALUES (%d, %d, %d, %d, %d, NOW(), %.2f, '%s')",
             out->c_id, in->c_d_id, in->c_w_id, in->d_id, in->w_id, in->h_amount, data);
    if (mysql_query(conn, sql) != 0)
        goto fail;

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "payment: %s\n", mysql_error(conn));
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return -1;
}
