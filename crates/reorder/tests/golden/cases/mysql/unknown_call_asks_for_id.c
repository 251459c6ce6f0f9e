// The function of another file may return `mysql_insert_id`: that of the insert.
// schema: CREATE TABLE bill (b_id INT AUTO_INCREMENT PRIMARY KEY, b_shop INT);
// api: mysql
// expect: unchanged
// keeps: barrier, last query before it has left: calls `last_id`
#include <mysql.h>

long last_id(MYSQL *db);

int pay(MYSQL *db, long *out)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "INSERT INTO bill (b_shop) VALUES (1)"))
        goto fail;
    *out = last_id(db);
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
