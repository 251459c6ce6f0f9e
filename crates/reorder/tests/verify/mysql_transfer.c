/* A transfer over the client library of MySQL: texts and one prepared statement. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mysql.h>

#include "transfer.h"

static int add_entry(MYSQL *conn, const struct transfer *t)
{
    const char *sql = "INSERT INTO entry (e_account, e_amount) VALUES (?, ?)";
    MYSQL_STMT *stmt = mysql_stmt_init(conn);
    MYSQL_BIND in[2];
    int failed;

    if (stmt == NULL)
        return -1;
    memset(in, 0, sizeof in);
    in[0].buffer_type = in[1].buffer_type = MYSQL_TYPE_LONG;
    in[0].buffer = (void *)&t->account;
    in[1].buffer = (void *)&t->amount;
    failed = mysql_stmt_prepare(stmt, sql, strlen(sql)) || mysql_stmt_bind_param(stmt, in) ||
             mysql_stmt_execute(stmt);
    mysql_stmt_close(stmt);
    return failed;
}

int transfer(MYSQL *conn, struct transfer *t)
{
    char sql[256];
    MYSQL_RES *res;
    MYSQL_ROW row;

    if (mysql_query(conn, "START TRANSACTION") != 0)
        return -1;
    snprintf(sql, sizeof sql, "UPDATE bank SET b_total = b_total + %d WHERE b_id = 1", t->amount);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    snprintf(sql, sizeof sql, "UPDATE account SET a_balance = a_balance + %d WHERE a_id = %d",
             t->amount, t->account);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    snprintf(sql, sizeof sql, "SELECT a_balance, a_name FROM account WHERE a_id = %d", t->account);
    if (mysql_query(conn, sql) != 0)
        goto fail;
    res = mysql_store_result(conn);
    if (res == NULL)
        goto fail;
    row = mysql_fetch_row(res);
    if (row == NULL) {
        mysql_free_result(res);
        goto fail;
    }
    t->balance = atoi(row[0]);
    snprintf(t->name, sizeof t->name, "%s", row[1]);
    mysql_free_result(res);
    if (add_entry(conn, t) != 0)
        goto fail;
    if (mysql_commit(conn) != 0)
        goto fail;
    printf("moved %d\n", t->amount);
    return 0;

fail:
    mysql_rollback(conn);
    return -2;
}
