// A function binds the parameters to a statement of its caller. The statement reads them when it
// runs, after another query has changed one.
// api: mysql
// statement: all->stmt[PAY_REGION] = UPDATE region SET r_total = r_total + ? WHERE r_id = ?
// statement: all->stmt[GET_CUSTOMER] = SELECT c_balance FROM customer WHERE c_id = ?
// expect: unchanged
#include <string.h>
#include <mysql.h>

enum { PAY_REGION, GET_CUSTOMER, STATEMENTS };

struct statements {
    MYSQL_STMT *stmt[STATEMENTS];
};

static void bind_int(MYSQL_BIND *bind, const int *value)
{
    memset(bind, 0, sizeof *bind);
    bind->buffer_type = MYSQL_TYPE_LONG;
    bind->buffer = (void *)value;
}

static int bind(MYSQL_STMT *stmt, MYSQL_BIND *params)
{
    return mysql_stmt_bind_param(stmt, params) ? -1 : 0;
}

int pay(MYSQL *db, struct statements *all, int region, int customer, int amount, int *balance)
{
    MYSQL_STMT *stmt = NULL;
    MYSQL_BIND put[2], get[1], columns[1];

    if (mysql_query(db, "BEGIN") != 0)
        goto fail;

    stmt = all->stmt[PAY_REGION];
    bind_int(&put[0], &amount);
    bind_int(&put[1], &region);
    if (bind(stmt, put) != 0 || mysql_stmt_execute(stmt))
        goto fail;

    stmt = all->stmt[GET_CUSTOMER];
    bind_int(&get[0], &customer);
    bind_int(&columns[0], &amount);
    *balance = amount;
    if (bind(stmt, get) != 0 || mysql_stmt_execute(stmt) ||
        mysql_stmt_bind_result(stmt, columns) || mysql_stmt_fetch(stmt))
        goto fail;
    mysql_stmt_free_result(stmt);

    stmt = NULL;
    if (mysql_commit(db) != 0)
        goto fail;
    return 0;
fail:
    if (stmt != NULL)
        mysql_stmt_free_result(stmt);
    mysql_rollback(db);
    return -1;
}
