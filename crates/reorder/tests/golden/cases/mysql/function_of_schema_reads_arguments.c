// The function depends on its arguments alone.
// schema: CREATE TABLE bill (b_id INT AUTO_INCREMENT PRIMARY KEY, b_shop INT);
// schema: CREATE FUNCTION half(n INT) RETURNS INT RETURN n / 2;
// api: mysql
// relaxed reads: yes
// expect: moves
#include <stdlib.h>
#include <mysql.h>

int pay(MYSQL *db, long *out)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "SELECT half(5)"))
        goto fail;
    MYSQL_RES *rows = mysql_store_result(db);
    if (!rows)
        goto fail;
    MYSQL_ROW row = mysql_fetch_row(rows);
    *out = atol(row[0]);
    mysql_free_result(rows);
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
