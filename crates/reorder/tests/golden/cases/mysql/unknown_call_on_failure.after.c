// What reports a failure finds the error of the failed query, in each order.
// api: mysql
// expect: moves
#include <mysql.h>

void report(MYSQL *db);

int pay(MYSQL *db)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "COMMIT")) {
        report(db);
        goto fail;
    }
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
