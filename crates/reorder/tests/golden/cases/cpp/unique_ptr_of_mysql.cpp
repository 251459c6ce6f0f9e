// `mysql_free_result` may end the sending of rows, behind which the connection takes queries again.
// api: mysql
// expect: unchanged
// keeps: barrier, `mysql_free_result` is called where the scope ends, and does more than to end
#include <memory>

#include <mysql.h>

using Result = std::unique_ptr<MYSQL_RES, decltype(&mysql_free_result)>;

int pay(MYSQL *db)
{
    if (mysql_query(db, "BEGIN"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
        mysql_rollback(db);
        return -1;
    }
    if (mysql_query(db, "SELECT c_balance FROM customer WHERE c_id = 2")) {
        mysql_rollback(db);
        return -1;
    }
    Result rows(mysql_store_result(db), mysql_free_result);
    if (!rows) {
        mysql_rollback(db);
        return -1;
    }
    return mysql_commit(db) ? -1 : 0;
}
