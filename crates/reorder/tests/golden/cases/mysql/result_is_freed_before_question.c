// Freeing an older result leaves the number of changed rows as it was.
// api: mysql
// expect: unchanged
// keeps: write after read, the state of the connection
#include <mysql.h>

int pay(MYSQL *db, MYSQL_RES *older, long *changed)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "UPDATE customer SET c_visits = 1 WHERE c_shop = 2"))
        goto fail;
    mysql_free_result(older);
    *changed = (long)mysql_affected_rows(db);
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
