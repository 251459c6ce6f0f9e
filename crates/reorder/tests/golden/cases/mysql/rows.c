// The rows are read and freed with their query.
// api: mysql
// isolation: serializable
// expect: moves
#include <stdlib.h>

#include <mysql.h>

int pay(MYSQL *db)
{
    MYSQL_RES *res;
    MYSQL_ROW row;
    int balance = 0;

    mysql_query(db, "START TRANSACTION");
    mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    mysql_query(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    res = mysql_store_result(db);
    row = mysql_fetch_row(res);
    if (row != NULL)
        balance = atoi(row[0]);
    mysql_free_result(res);
    mysql_query(db, "COMMIT");
    return balance;
}
