/* TPC-E trade status over the client library of MariaDB, with SQL texts. Reads only. */
#include <stdio.h>
#include <stdlib.h>

#include <mysql.h>

#include "trade_status.h"

int trade_status(MYSQL *conn, const struct trade_status_input *in,
                 struct trade_status_output *out)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row;
    char sql[1024];

    if (mysql_query(conn, "BEGIN") != 0)
        goto fail;

    snprintf(sql, sizeof sql,
             "SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name, "
             "ex_name FROM trade JOIN status_type ON st_id = t_st_id JOIN trade_type ON tt_id = "
             "t_tt_id JOIN security ON s_symb = t_s_symb JOIN exchange ON ex_id = s_ex_id WHERE "
             "t_ca_id = %d ORDER BY t_dts DESC LIMIT 50",
             in->acct_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL)
        goto fail;
    out->num_found = 0;
    for (int i = 0; i < MAX_STATUS && (row = mysql_fetch_row(res)) != NULL; i++) {
        out->num_found++;
        out->trades[i].trade_id = atoll(row[0]);
        snprintf(out->trades[i].trade_dts, sizeof out->trades[i].trade_dts, "%s",
                 row[1]);
        snprintf(out->trades[i].status_name, sizeof out->trades[i].status_name, "%s",
                 row[2]);
        snprintf(out->trades[i].type_name, sizeof out->trades[i].type_name, "%s",
                 row[3]);
        snprintf(out->trades[i].symbol, sizeof out->trades[i].symbol, "%s",
                 row[4]);
        out->trades[i].trade_qty = atoi(row[5]);
        snprintf(out->trades[i].exec_name, sizeof out->trades[i].exec_name, "%s",
                 row[6]);
        out->trades[i].charge = atof(row[7]);
        snprintf(out->trades[i].s_name, sizeof out->trades[i].s_name, "%s",
                 row[8]);
        snprintf(out->trades[i].ex_name, sizeof out->trades[i].ex_name, "%s",
                 row[9]);
    }
    mysql_free_result(res);
    res = NULL;

    snprintf(sql, sizeof sql,
             "SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = "
             "ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = %d",
             in->acct_id);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL || (row = mysql_fetch_row(res)) == NULL)
        goto fail;
    snprintf(out->cust_l_name, sizeof out->cust_l_name, "%s", row[0]);
    snprintf(out->cust_f_name, sizeof out->cust_f_name, "%s", row[1]);
    snprintf(out->broker_name, sizeof out->broker_name, "%s", row[2]);
    mysql_free_result(res);
    res = NULL;

    if (mysql_query(conn, "COMMIT") != 0)
        goto fail;
    return 0;

fail:
    fprintf(stderr, "trade status: %s\n", mysql_error(conn));
    mysql_free_result(res);
    mysql_query(conn, "ROLLBACK");
    return -1;
}
