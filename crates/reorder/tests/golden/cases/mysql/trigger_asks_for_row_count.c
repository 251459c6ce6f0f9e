// The trigger stores the number of rows of the last update.
// schema: CREATE TRIGGER n BEFORE INSERT ON sale FOR EACH ROW SET NEW.x_amount = ROW_COUNT();
// api: mysql
// expect: unchanged
// keeps: function, `row_count` says what the last statement before it has done
#include <mysql.h>

int pay(MYSQL *db)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    if (mysql_query(db, "INSERT INTO sale VALUES (1, 2, 0, NULL)"))
        goto fail;
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
