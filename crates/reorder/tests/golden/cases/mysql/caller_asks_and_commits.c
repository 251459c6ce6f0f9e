// The caller asks for the number of rows of the last query before it commits.
// api: mysql
// function: pay
// expect: unchanged
// keeps: outside effect, `all` asks afterwards
#include <mysql.h>

int pay(MYSQL *db)
{
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "UPDATE customer SET c_visits = 1 WHERE c_shop = 2"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}

int all(MYSQL *db, long *changed)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (pay(db))
        return -1;
    *changed = (long)mysql_affected_rows(db);
    return mysql_commit(db);
}
