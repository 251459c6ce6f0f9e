// Rows of two queries in C++, each freed behind the label if there are any.
// api: mysql
// isolation: serializable
// expect: moves
#include <cstdlib>

#include <mysql.h>

int pay(MYSQL *db)
{
    MYSQL_RES *price = nullptr, *balance = nullptr;
    MYSQL_ROW row;
    int paid = 0, left = 0, status = -1;

    if (mysql_query(db, "START TRANSACTION") != 0)
        return -1;
    if (mysql_query(db, "SELECT c_balance FROM customer WHERE c_id = 2") != 0)
        goto undo;
    balance = mysql_store_result(db);
    if (!balance)
        goto undo;
    row = mysql_fetch_row(balance);
    left = row == nullptr ? 0 : std::atoi(row[0]);
    if (mysql_query(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE") != 0)
        goto undo;
    price = mysql_store_result(db);
    if (price == nullptr)
        goto undo;
    row = mysql_fetch_row(price);
    paid = row == nullptr ? 0 : std::atoi(row[0]);
    if (mysql_query(db, "COMMIT") != 0)
        goto undo;
    status = left - paid;
    goto done;
undo:
    mysql_query(db, "ROLLBACK");
done:
    if (nullptr != price)
        mysql_free_result(price);
    if (balance)
        mysql_free_result(balance);
    return status;
}
