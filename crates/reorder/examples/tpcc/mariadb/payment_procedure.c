/* TPC-C payment over the client library of MariaDB, as one call of a stored procedure:
 * procedure.sql, or procedure-reordered.sql. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "payment.h"

int payment(MYSQL *conn, const struct payment_input *in, struct payment_output *out)
{
    char sql[1024], name[40];
    MYSQL_RES *res;
    MYSQL_ROW row;
    int status = -1;

    mysql_real_escape_string(conn, name, in->c_last, strlen(in->c_last));
    snprintf(sql, sizeof sql, "CALL payment(%d, %d, %d, %d, %d, '%s', %.2f)", in->w_id, in->d_id,
             in->c_w_id, in->c_d_id, in->c_id, name, in->h_amount);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res != NULL && (row = mysql_fetch_row(res)) != NULL) {
        snprintf(out->w_name, sizeof out->w_name, "%s", row[0]);
        snprintf(out->w_street_1, sizeof out->w_street_1, "%s", row[1]);
        snprintf(out->w_street_2, sizeof out->w_street_2, "%s", row[2]);
        snprintf(out->w_city, sizeof out->w_city, "%s", row[3]);
        snprintf(out->w_state, sizeof out->w_state, "%s", row[4]);
        snprintf(out->w_zip, sizeof out->w_zip, "%s", row[5]);
        snprintf(out->d_name, sizeof out->d_name, "%s", row[6]);
        snprintf(out->d_street_1, sizeof out->d_street_1, "%s", row[7]);
        snprintf(out->d_street_2, sizeof out->d_street_2, "%s", row[8]);
        snprintf(out->d_city, sizeof out->d_city, "%s", row[9]);
        snprintf(out->d_state, sizeof out->d_state, "%s", row[10]);
        snprintf(out->d_zip, sizeof out->d_zip, "%s", row[11]);
        out->c_id = atoi(row[12]);
        snprintf(out->c_first, sizeof out->c_first, "%s", row[13]);
        snprintf(out->c_middle, sizeof out->c_middle, "%s", row[14]);
        snprintf(out->c_last, sizeof out->c_last, "%s", row[15]);
        snprintf(out->c_street_1, sizeof out->c_street_1, "%s", row[16]);
        snprintf(out->c_street_2, sizeof out->c_street_2, "%s", row[17]);
        snprintf(out->c_city, sizeof out->c_city, "%s", row[18]);
        snprintf(out->c_state, sizeof out->c_state, "%s", row[19]);
        snprintf(out->c_zip, sizeof out->c_zip, "%s", row[20]);
        snprintf(out->c_phone, sizeof out->c_phone, "%s", row[21]);
        snprintf(out->c_since, sizeof out->c_since, "%s", row[22]);
        snprintf(out->c_credit, sizeof out->c_credit, "%s", row[23]);
        out->c_credit_lim = atof(row[24]);
        out->c_discount = atof(row[25]);
        out->c_balance = atof(row[26]);
        snprintf(out->c_data, sizeof out->c_data, "%s", row[27]);
        status = 0;
    }
    mysql_free_result(res);
    /* The result of the procedure is followed by that of the call. */
    while (mysql_next_result(conn) == 0)
        mysql_free_result(mysql_store_result(conn));
    if (mysql_errno(conn) != 0)
        goto fail;
    return status;

fail:
    fprintf(stderr, "payment: %s\n", mysql_error(conn));
    mysql_query(conn, "ROLLBACK");
    return -1;
}
