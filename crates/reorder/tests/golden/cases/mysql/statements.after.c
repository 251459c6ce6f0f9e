// A prepared statement with bound buffers, which the fetch writes.
// api: mysql
// isolation: serializable
// expect: moves
#include <string.h>

#include <mysql.h>

long pay(MYSQL *db)
{
    static const char sql[] = "SELECT c_balance FROM customer WHERE c_id = 2";
    MYSQL_STMT *stmt;
    MYSQL_BIND bind;
    long balance = 0;

    mysql_query(db, "START TRANSACTION");
    stmt = mysql_stmt_init(db);
    mysql_stmt_prepare(stmt, sql, sizeof sql - 1);
    memset(&bind, 0, sizeof bind);
    bind.buffer_type = MYSQL_TYPE_LONGLONG;
    bind.buffer = &balance;
    mysql_stmt_bind_result(stmt, &bind);
    mysql_stmt_execute(stmt);
    mysql_stmt_fetch(stmt);
    mysql_stmt_close(stmt);
    mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    mysql_query(db, "COMMIT");
    return balance;
}
