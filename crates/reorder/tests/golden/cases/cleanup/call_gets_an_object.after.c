// The exits close the statement only if there is one.
// api: mysql
// isolation: serializable
// expect: moves
#include <string.h>

#include <mysql.h>

int pay(MYSQL *db)
{
    static const char add[] = "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1";
    static const char visit[] = "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 1";
    MYSQL_STMT *region = NULL, *customer = NULL;

    customer = mysql_stmt_init(db);
    if (mysql_stmt_prepare(customer, visit, sizeof visit - 1) != 0)
        goto done;
    if (mysql_query(db, "START TRANSACTION") != 0)
        goto done;
    if (mysql_stmt_execute(customer) != 0)
        goto undo;
    region = mysql_stmt_init(db);
    if (mysql_stmt_prepare(region, add, sizeof add - 1) != 0)
        goto undo;
    if (mysql_stmt_execute(region) != 0)
        goto undo;
    mysql_query(db, "COMMIT");
    mysql_stmt_close(customer);
    mysql_stmt_close(region);
    return 0;
undo:
    mysql_query(db, "ROLLBACK");
    if (region)
        mysql_stmt_close(region);
done:
    mysql_stmt_close(customer);
    return -1;
}
