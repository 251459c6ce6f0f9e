// The loop uses rows of both queries. Until its last row no other query may run.
// api: mysql
// isolation: serializable
// expect: unchanged
// keeps: barrier, rows of a result may still be on the way
#include <stdlib.h>

#include <mysql.h>

int pay(MYSQL *db)
{
    MYSQL_RES *first, *second;
    MYSQL_ROW one, row;
    int balance = 0;

    mysql_query(db, "START TRANSACTION");
    mysql_query(db, "SELECT i_price FROM item WHERE i_id = 2");
    first = mysql_store_result(db);
    one = mysql_fetch_row(first);
    mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    mysql_query(db, "SELECT c_balance FROM customer WHERE c_shop = 2");
    second = mysql_use_result(db);
    while ((row = mysql_fetch_row(second)) != NULL)
        balance += atoi(row[0]) * atoi(one[0]);
    mysql_free_result(first);
    mysql_free_result(second);
    mysql_query(db, "COMMIT");
    return balance;
}
