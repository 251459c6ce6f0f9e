// MySQL goes on behind a failed query, and the second one's failure is not asked for: a deadlock
// there undoes the first one.
// api: mysql
// expect: unchanged
// keeps: exit, the server may roll back what stands before it
#include <mysql.h>

int pay(MYSQL *db)
{
    mysql_query(db, "START TRANSACTION");
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
        mysql_rollback(db);
        return -1;
    }
    mysql_query(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    return mysql_commit(db);
}
