// MySQL goes on behind a failed query: the exit of the first update commits nothing, the second
// one's failure is not asked for.
// api: mysql
// expect: moves
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
