/* TPC-C stock level over the client library of MariaDB, with SQL texts. */
#include <stdio.h>
#include <stdlib.h>

#include <mysql.h>

#include "stock_level.h"

int stock_level(MYSQL *conn, const struct stock_level_input *in, struct stock_level_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024];
    int next;

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    snprintf(sql, sizeof sql,
             "SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d",
             in->w_id, in->d_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    next = atoi(row[0]);
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND "
             "s_i_id = ol_i_id WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id >= %d AND ol_o_id "
             "< %d AND s_quantity < %d",
             in->w_id, in->d_id, next - 20, next, in->threshold);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    out->low_stock = atoi(row[0]);
    mysql_free_result(res);
    res = NULL;

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "stock level: %s\n", mysql_error(conn));
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return -1;
}
