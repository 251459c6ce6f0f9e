// Another function binds the column to a field of the structure, which the insert does not read.
// api: mysql
// function: note
// expect: moves
#include <stdio.h>
#include <string.h>
#include <mysql.h>

struct account {
    MYSQL *db;
    MYSQL_STMT *get;
    int id, balance;
};

int account_open(struct account *account)
{
    MYSQL_BIND parameter[1], column[1];
    const char *sql = "SELECT r_total FROM region WHERE r_id = ? FOR UPDATE";

    account->get = mysql_stmt_init(account->db);
    if (mysql_stmt_prepare(account->get, sql, strlen(sql)) != 0)
        return -1;
    memset(parameter, 0, sizeof parameter);
    parameter[0].buffer_type = MYSQL_TYPE_LONG;
    parameter[0].buffer = &account->id;
    memset(column, 0, sizeof column);
    column[0].buffer_type = MYSQL_TYPE_LONG;
    column[0].buffer = &account->balance;
    if (mysql_stmt_bind_param(account->get, parameter))
        return -1;
    return mysql_stmt_bind_result(account->get, column);
}

int note(struct account *account, int amount)
{
    char sql[100];

    if (mysql_query(account->db, "BEGIN") != 0)
        return -1;
    if (mysql_stmt_execute(account->get) != 0)
        goto fail;
    if (mysql_stmt_store_result(account->get) != 0)
        goto fail;
    if (mysql_stmt_fetch(account->get) != 0)
        goto fail;
    mysql_stmt_free_result(account->get);
    snprintf(sql, sizeof sql, "INSERT INTO sale VALUES (1, 2, %d, 'x')", amount);
    if (mysql_query(account->db, sql) != 0)
        goto fail;
    if (mysql_query(account->db, "COMMIT") != 0)
        goto fail;
    return 0;
fail:
    mysql_query(account->db, "ROLLBACK");
    return -1;
}
