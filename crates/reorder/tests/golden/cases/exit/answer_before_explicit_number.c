// The insert names the number, which may be there already: the program must report the answer.
// api: mysql
// schema: CREATE TABLE parcel (p_id INT AUTO_INCREMENT PRIMARY KEY, p_weight INT);
// objective: position
// expect: unchanged
// keeps: exit, `parcel` may refuse the change
#include <mysql.h>
#include <stdio.h>

int pack(MYSQL *db, int number)
{
    char sql[99];
    MYSQL_RES *rows;

    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "SELECT i_stock FROM item WHERE i_id = 3 FOR UPDATE"))
        goto fail;
    rows = mysql_store_result(db);
    if (rows == NULL)
        goto fail;
    if (mysql_num_rows(rows) == 0) {
        mysql_free_result(rows);
        mysql_rollback(db);
        return -2;
    }
    mysql_free_result(rows);
    snprintf(sql, sizeof sql, "INSERT INTO parcel (p_id, p_weight) VALUES (%d, 4)", number);
    if (mysql_query(db, sql))
        goto fail;
    if (mysql_commit(db))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
