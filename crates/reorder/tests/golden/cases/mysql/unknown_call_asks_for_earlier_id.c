// The unknown call may ask for the id of the insert, which the client library forgets at the next
// write.
// api: mysql
// schema: CREATE TABLE bill (b_id INT AUTO_INCREMENT PRIMARY KEY, b_shop INT);
// expect: unchanged
// keeps: barrier, last query before it has left: calls `changed`
#include <mysql.h>

long changed(void);

int pay(MYSQL *db, long *out)
{
    MYSQL_RES *rows;

    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "INSERT INTO bill (b_shop) VALUES (1)"))
        goto fail;
    if (mysql_query(db, "SELECT i_stock FROM item WHERE i_id = 3"))
        goto fail;
    rows = mysql_store_result(db);
    mysql_free_result(rows);
    *out = changed();
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
