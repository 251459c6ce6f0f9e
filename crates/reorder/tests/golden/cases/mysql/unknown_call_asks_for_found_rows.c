// The unknown call may ask how many rows the last query with rows has found.
// api: mysql
// expect: unchanged
// keeps: barrier, last query before it has left: calls `changed`
#include <mysql.h>

long changed(void);

int pay(MYSQL *db, long *out)
{
    MYSQL_RES *rows;

    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = (SELECT c_visits FROM customer)"))
        goto fail;
    if (mysql_query(db, "UPDATE item SET i_stock = (SELECT s_total FROM shop)"))
        goto fail;
    if (mysql_query(db, "SELECT i_stock FROM item WHERE i_id = 3"))
        goto fail;
    rows = mysql_store_result(db);
    mysql_free_result(rows);
    *out = changed();
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
