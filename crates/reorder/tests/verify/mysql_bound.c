/* Statements over MariaDB that a function prepares once, with memory bound to them. */
#include <string.h>

#include <mysql.h>

static MYSQL_STMT *add_to_bank, *add_to_account;
static int amount, account;

static MYSQL_STMT *prepared(MYSQL *conn, const char *sql, MYSQL_BIND *bind)
{
    MYSQL_STMT *stmt = mysql_stmt_init(conn);

    if (mysql_stmt_prepare(stmt, sql, strlen(sql)) == 0)
        mysql_stmt_bind_param(stmt, bind);
    return stmt;
}

void open_statements(MYSQL *conn)
{
    MYSQL_BIND bind[2];

    memset(bind, 0, sizeof bind);
    bind[0].buffer_type = bind[1].buffer_type = MYSQL_TYPE_LONG;
    bind[0].buffer = &amount;
    bind[1].buffer = &account;
    add_to_bank = prepared(conn, "UPDATE bank SET b_total = b_total + ? WHERE b_id = 1", bind);
    add_to_account =
        prepared(conn, "UPDATE account SET a_balance = a_balance + ? WHERE a_id = ?", bind);
}

int deposit(MYSQL *conn, int value, int number)
{
    if (mysql_query(conn, "BEGIN") != 0)
        return -1;
    amount = value;
    if (mysql_stmt_execute(add_to_bank) != 0)
        goto fail;
    amount = value + 1;
    account = number;
    if (mysql_stmt_execute(add_to_account) != 0)
        goto fail;
    if (mysql_commit(conn) != 0)
        goto fail;
    return 0;

fail:
    mysql_rollback(conn);
    return -1;
}
