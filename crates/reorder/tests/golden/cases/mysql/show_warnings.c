// The warnings are those of the last query.
// api: mysql
// expect: unchanged
// keeps: barrier, last query before it has left: it runs `SHOW WARNINGS`
#include <mysql.h>

int pay(MYSQL *db, long *out)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    if (mysql_query(db, "SHOW WARNINGS"))
        goto fail;
    MYSQL_RES *rows = mysql_store_result(db);
    *out = (long)mysql_num_rows(rows);
    mysql_free_result(rows);
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
