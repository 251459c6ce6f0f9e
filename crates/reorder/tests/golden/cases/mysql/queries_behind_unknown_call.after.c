// The function sees what the queries before it have left; those behind it change places.
// api: mysql
// expect: moves
// keeps: barrier, calls `note`
#include <mysql.h>

void note(MYSQL *db);

int pay(MYSQL *db)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    note(db);
    if (mysql_query(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
