// Parameters and columns are bound in arrays that both statements use.
// api: mysql
// expect: moves
#include <string.h>
#include <mysql.h>

int pay(MYSQL *db, int region, int customer, int *balance)
{
    MYSQL_STMT *update, *select;
    MYSQL_BIND params[1], columns[1];

    update = mysql_stmt_init(db);
    mysql_stmt_prepare(update, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", 54);
    select = mysql_stmt_init(db);
    mysql_stmt_prepare(select, "SELECT c_balance FROM customer WHERE c_id = ?", 45);

    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    memset(params, 0, sizeof params);
    params[0].buffer_type = MYSQL_TYPE_LONG;
    params[0].buffer = &region;
    if (mysql_stmt_bind_param(update, params) || mysql_stmt_execute(update))
        goto fail;

    memset(params, 0, sizeof params);
    params[0].buffer_type = MYSQL_TYPE_LONG;
    params[0].buffer = &customer;
    memset(columns, 0, sizeof columns);
    columns[0].buffer_type = MYSQL_TYPE_LONG;
    columns[0].buffer = balance;
    if (mysql_stmt_bind_param(select, params) || mysql_stmt_execute(select) ||
        mysql_stmt_bind_result(select, columns) || mysql_stmt_store_result(select))
        goto fail;
    if (mysql_stmt_fetch(select))
        goto fail;
    mysql_stmt_free_result(select);
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
