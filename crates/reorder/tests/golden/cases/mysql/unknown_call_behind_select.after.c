// The unknown call may ask for what the last query has left, but that stays the `SELECT`.
// api: mysql
// expect: moves
#include <mysql.h>

long changed(void);

int pay(MYSQL *db, long *out)
{
    MYSQL_RES *rows;

    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
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
