// The lambda is not looked into: it may ask for the number of the insert, as it does.
// schema: CREATE TABLE bill (b_id INT AUTO_INCREMENT PRIMARY KEY, b_shop INT);
// api: mysql
// expect: unchanged
// keeps: barrier, last query before it has left
#include <mysql.h>
#include <exception>

int pay(MYSQL *db, long &id)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "INSERT INTO bill (b_shop) VALUES (1)"))
        goto fail;
    id = [&] { return static_cast<long>(mysql_insert_id(db)); }();
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
