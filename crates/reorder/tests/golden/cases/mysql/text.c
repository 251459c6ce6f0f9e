// api: mysql
// expect: moves
#include <stdio.h>

#include <mysql.h>

int pay(MYSQL *db, int amount)
{
    char sql[200];

    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    snprintf(sql, sizeof sql, "UPDATE region SET r_total = r_total + %d WHERE r_id = 1", amount);
    if (mysql_query(db, sql))
        goto fail;
    snprintf(sql, sizeof sql, "UPDATE customer SET c_visits = c_visits + %d WHERE c_id = 2",
             amount);
    if (mysql_query(db, sql))
        goto fail;
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_query(db, "ROLLBACK");
    return -1;
}
