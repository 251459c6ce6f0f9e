// The check may ask for the number of rows.
// api: mysql
// expect: unchanged
// keeps: barrier, last query before it has left: calls `check`
#include <mysql.h>

int check(MYSQL *db);

int pay(MYSQL *db)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    if (check(db))
        goto fail;
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
