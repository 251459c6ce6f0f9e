// `mysql_autocommit` may begin a transaction, or end one: the message says what to do.
// api: mysql
// expect: refused, line 8: `mysql_autocommit(my, 0)` is not taken as the begin of a transaction
#include <mysql.h>

int pay(MYSQL *my)
{
    if (mysql_autocommit(my, 0))
        return -1;
    if (mysql_query(my, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(my, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    return mysql_commit(my) ? -1 : 0;
fail:
    mysql_rollback(my);
    return -1;
}
