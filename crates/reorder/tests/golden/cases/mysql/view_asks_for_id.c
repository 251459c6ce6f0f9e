// The view calls a function that calls the one that returns the number of the insert.
// schema: CREATE TABLE bill (b_id INT AUTO_INCREMENT PRIMARY KEY, b_shop INT);
// schema: CREATE FUNCTION drawn() RETURNS BIGINT RETURN LAST_INSERT_ID();
// schema: CREATE FUNCTION twice() RETURNS BIGINT RETURN 2 * drawn();
// schema: CREATE VIEW ticket AS SELECT twice() AS n;
// api: mysql
// expect: unchanged
// keeps: function, the values of `nextval` and `last_insert_id` change with each call
#include <stdlib.h>
#include <mysql.h>

int pay(MYSQL *db, long *out)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "INSERT INTO bill (b_shop) VALUES (1)"))
        goto fail;
    if (mysql_query(db, "SELECT n FROM ticket"))
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
