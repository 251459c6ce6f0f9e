// A function prepares a statement and returns its handle; the loop stores it in an array.
// api: mysql
// expect: moves
#include <stdlib.h>
#include <string.h>
#include <mysql.h>

enum { PAY_REGION, GET_CUSTOMER, STATEMENTS };

struct statements {
    MYSQL_STMT *stmt[STATEMENTS];
};

static const char *const texts[STATEMENTS] = {
    [PAY_REGION] = "UPDATE region SET r_total = r_total + ? WHERE r_id = ?",
    [GET_CUSTOMER] = "SELECT c_balance FROM customer WHERE c_id = ?",
};

static MYSQL_STMT *prepare(MYSQL *db, const char *sql)
{
    MYSQL_STMT *stmt = mysql_stmt_init(db);

    if (stmt != NULL && mysql_stmt_prepare(stmt, sql, strlen(sql)) != 0) {
        mysql_stmt_close(stmt);
        return NULL;
    }
    return stmt;
}

int prepare_all(MYSQL *db, struct statements *all)
{
    for (int i = 0; i < STATEMENTS; i++) {
        all->stmt[i] = prepare(db, texts[i]);
        if (all->stmt[i] == NULL)
            return -1;
    }
    return 0;
}

static void bind_int(MYSQL_BIND *bind, const int *value)
{
    memset(bind, 0, sizeof *bind);
    bind->buffer_type = MYSQL_TYPE_LONG;
    bind->buffer = (void *)value;
}

int pay(MYSQL *db, struct statements *all, int region, int customer, int amount, int *balance)
{
    MYSQL_STMT *stmt = NULL;
    MYSQL_BIND params[2], columns[1];

    if (mysql_query(db, "BEGIN") != 0)
        goto fail;

    stmt = all->stmt[PAY_REGION];
    bind_int(&params[0], &amount);
    bind_int(&params[1], &region);
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt))
        goto fail;

    stmt = all->stmt[GET_CUSTOMER];
    bind_int(&params[0], &customer);
    bind_int(&columns[0], balance);
    if (mysql_stmt_bind_param(stmt, params) || mysql_stmt_execute(stmt) ||
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
