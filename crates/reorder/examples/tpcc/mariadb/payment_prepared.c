/* TPC-C payment over the client library of MariaDB, with prepared statements. The statements of a
 * connection are kept in a structure that the caller makes once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "payment.h"

enum {
    PAY_WAREHOUSE,
    GET_WAREHOUSE,
    PAY_DISTRICT,
    GET_DISTRICT,
    FIND_CUSTOMERS,
    GET_CUSTOMER,
    GET_DATA,
    PAY_CUSTOMER,
    PAY_CUSTOMER_DATA,
    ADD_HISTORY,
    STATEMENTS
};

struct payment_statements {
    MYSQL_STMT *stmt[STATEMENTS];
};

static const char *const texts[STATEMENTS] = {
    [PAY_WAREHOUSE] = "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
    [GET_WAREHOUSE] = "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip "
                      "FROM warehouse WHERE w_id = ?",
    [PAY_DISTRICT] = "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
    [GET_DISTRICT] = "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip "
                     "FROM district WHERE d_w_id = ? AND d_id = ?",
    [FIND_CUSTOMERS] = "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? "
                       "AND c_last = ? ORDER BY c_first",
    [GET_CUSTOMER] = "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, "
                     "c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance "
                     "FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
    [GET_DATA] = "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? "
                 "FOR UPDATE",
    [PAY_CUSTOMER] = "UPDATE customer SET c_balance = ?, c_ytd_payment = c_ytd_payment + ?, "
                     "c_payment_cnt = c_payment_cnt + 1 "
                     "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    [PAY_CUSTOMER_DATA] = "UPDATE customer SET c_balance = ?, c_ytd_payment = c_ytd_payment + ?, "
                          "c_payment_cnt = c_payment_cnt + 1, c_data = ? "
                          "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
    [ADD_HISTORY] = "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, "
                    "h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
};

void payment_close(struct payment_statements *statements)
{
    for (int i = 0; i < STATEMENTS; i++)
        if (statements->stmt[i] != NULL)
            mysql_stmt_close(statements->stmt[i]);
    free(statements);
}

struct payment_statements *payment_prepare(MYSQL *conn)
{
    struct payment_statements *statements = calloc(1, sizeof *statements);

    if (statements == NULL)
        return NULL;
    for (int i = 0; i < STATEMENTS; i++) {
        MYSQL_STMT *stmt = mysql_stmt_init(conn);

        statements->stmt[i] = stmt;
        if (stmt == NULL || mysql_stmt_prepare(stmt, texts[i], strlen(texts[i])) != 0) {
            fprintf(stderr, "payment: %s\n", stmt ? mysql_stmt_error(stmt) : "out of memory");
            payment_close(statements);
            return NULL;
        }
    }
    return statements;
}

static void bind_int(MYSQL_BIND *bind, const int *value)
{
    memset(bind, 0, sizeof *bind);
    bind->buffer_type = MYSQL_TYPE_LONG;
    bind->buffer = (void *)value;
}

static void bind_double(MYSQL_BIND *bind, const double *value)
{
    memset(bind, 0, sizeof *bind);
    bind->buffer_type = MYSQL_TYPE_DOUBLE;
    bind->buffer = (void *)value;
}

/* Binds a text as a parameter; its length is taken now. */
static void bind_text(MYSQL_BIND *bind, const char *text)
{
    memset(bind, 0, sizeof *bind);
    bind->buffer_type = MYSQL_TYPE_STRING;
    bind->buffer = (void *)text;
    bind->buffer_length = strlen(text);
}

/* Binds a buffer for a column of the result. */
static void bind_column(MYSQL_BIND *bind, char *buffer, unsigned long size)
{
    memset(bind, 0, sizeof *bind);
    bind->buffer_type = MYSQL_TYPE_STRING;
    bind->buffer = buffer;
    bind->buffer_length = size;
}

int payment_prepared(MYSQL *conn, struct payment_statements *statements,
                     const struct payment_input *in, struct payment_output *out)
{
    MYSQL_STMT *stmt = NULL;
    MYSQL_BIND params[7], columns[14];
    char old_data[501], history[32];
    my_ulonglong n;

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    stmt = statements->stmt[PAY_WAREHOUSE];
    bind_double(&params[0], &in->h_amount);
    bind_int(&params[1], &in->w_id);
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt))
        goto fail;

    stmt = statements->stmt[GET_WAREHOUSE];
    bind_int(&params[0], &in->w_id);
    bind_column(&columns[0], out->w_name, sizeof out->w_name);
    bind_column(&columns[1], out->w_street_1, sizeof out->w_street_1);
    bind_column(&columns[2], out->w_street_2, sizeof out->w_street_2);
    bind_column(&columns[3], out->w_city, sizeof out->w_city);
    bind_column(&columns[4], out->w_state, sizeof out->w_state);
    bind_column(&columns[5], out->w_zip, sizeof out->w_zip);
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt) ||
        mysql_stmt_bind_result(stmt, columns) || mysql_stmt_fetch(stmt))
        goto fail;
    mysql_stmt_free_result(stmt);

    stmt = statements->stmt[PAY_DISTRICT];
    bind_double(&params[0], &in->h_amount);
    bind_int(&params[1], &in->w_id);
    bind_int(&params[2], &in->d_id);
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt))
        goto fail;

    stmt = statements->stmt[GET_DISTRICT];
    bind_int(&params[0], &in->w_id);
    bind_int(&params[1], &in->d_id);
    bind_column(&columns[0], out->d_name, sizeof out->d_name);
    bind_column(&columns[1], out->d_street_1, sizeof out->d_street_1);
    bind_column(&columns[2], out->d_street_2, sizeof out->d_street_2);
    bind_column(&columns[3], out->d_city, sizeof out->d_city);
    bind_column(&columns[4], out->d_state, sizeof out->d_state);
    bind_column(&columns[5], out->d_zip, sizeof out->d_zip);
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt) ||
        mysql_stmt_bind_result(stmt, columns) || mysql_stmt_fetch(stmt))
        goto fail;
    mysql_stmt_free_result(stmt);

    out->c_id = in->c_id;
    if (in->c_id == 0) {
        stmt = statements->stmt[FIND_CUSTOMERS];
        bind_int(&params[0], &in->c_w_id);
        bind_int(&params[1], &in->c_d_id);
        bind_text(&params[2], in->c_last);
        bind_int(&columns[0], &out->c_id);
        if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt) ||
            mysql_stmt_bind_result(stmt, columns) || mysql_stmt_store_result(stmt))
            goto fail;
        n = mysql_stmt_num_rows(stmt);
        if (n == 0)
            goto fail;
        mysql_stmt_data_seek(stmt, (n - 1) / 2);
        if (mysql_stmt_fetch(stmt))
            goto fail;
        mysql_stmt_free_result(stmt);
    }

    stmt = statements->stmt[GET_CUSTOMER];
    bind_int(&params[0], &in->c_w_id);
    bind_int(&params[1], &in->c_d_id);
    bind_int(&params[2], &out->c_id);
    bind_column(&columns[0], out->c_first, sizeof out->c_first);
    bind_column(&columns[1], out->c_middle, sizeof out->c_middle);
    bind_column(&columns[2], out->c_last, sizeof out->c_last);
    bind_column(&columns[3], out->c_street_1, sizeof out->c_street_1);
    bind_column(&columns[4], out->c_street_2, sizeof out->c_street_2);
    bind_column(&columns[5], out->c_city, sizeof out->c_city);
    bind_column(&columns[6], out->c_state, sizeof out->c_state);
    bind_column(&columns[7], out->c_zip, sizeof out->c_zip);
    bind_column(&columns[8], out->c_phone, sizeof out->c_phone);
    bind_column(&columns[9], out->c_since, sizeof out->c_since);
    bind_column(&columns[10], out->c_credit, sizeof out->c_credit);
    bind_double(&columns[11], &out->c_credit_lim);
    bind_double(&columns[12], &out->c_discount);
    bind_double(&columns[13], &out->c_balance);
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt) ||
        mysql_stmt_bind_result(stmt, columns) || mysql_stmt_fetch(stmt))
        goto fail;
    mysql_stmt_free_result(stmt);
    out->c_balance -= in->h_amount;

    out->c_data[0] = '\0';
    if (strcmp(out->c_credit, "BC") == 0) {
        stmt = statements->stmt[GET_DATA];
        bind_int(&params[0], &in->c_w_id);
        bind_int(&params[1], &in->c_d_id);
        bind_int(&params[2], &out->c_id);
        bind_column(&columns[0], old_data, sizeof old_data);
        if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt) ||
            mysql_stmt_bind_result(stmt, columns) || mysql_stmt_fetch(stmt))
            goto fail;
        mysql_stmt_free_result(stmt);
        snprintf(out->c_data, sizeof out->c_data, "%d %d %d %d %d %.2f | %.440s", out->c_id,
                 in->c_d_id, in->c_w_id, in->d_id, in->w_id, in->h_amount, old_data);

        stmt = statements->stmt[PAY_CUSTOMER_DATA];
        bind_double(&params[0], &out->c_balance);
        bind_double(&params[1], &in->h_amount);
        bind_text(&params[2], out->c_data);
        bind_int(&params[3], &in->c_w_id);
        bind_int(&params[4], &in->c_d_id);
        bind_int(&params[5], &out->c_id);
    } else {
        stmt = statements->stmt[PAY_CUSTOMER];
        bind_double(&params[0], &out->c_balance);
        bind_double(&params[1], &in->h_amount);
        bind_int(&params[2], &in->c_w_id);
        bind_int(&params[3], &in->c_d_id);
        bind_int(&params[4], &out->c_id);
    }
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt))
        goto fail;

    snprintf(history, sizeof history, "%s    %s", out->w_name, out->d_name);
    stmt = statements->stmt[ADD_HISTORY];
    bind_int(&params[0], &out->c_id);
    bind_int(&params[1], &in->c_d_id);
    bind_int(&params[2], &in->c_w_id);
    bind_int(&params[3], &in->d_id);
    bind_int(&params[4], &in->w_id);
    bind_double(&params[5], &in->h_amount);
    bind_text(&params[6], history);
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt))
        goto fail;

    stmt = NULL;
    if (mysql_commit(conn) != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "payment: %s\n", stmt ? mysql_stmt_error(stmt) : mysql_error(conn));
    if (stmt != NULL)
        mysql_stmt_free_result(stmt);
    mysql_rollback(conn);
    return -1;
}
