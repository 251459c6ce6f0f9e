// A function of another file binds the address of a local variable.
// api: mysql
// expect: unchanged
// keeps: write after read
#include <stdio.h>
#include <string.h>
#include <mysql.h>

int bind_int(MYSQL_STMT *stmt, int *value);

int pay(MYSQL *db, int from, int to)
{
    MYSQL_STMT *stmt = mysql_stmt_init(db);
    const char *update = "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?";
    int region;
    char sql[100];

    if (mysql_stmt_prepare(stmt, update, strlen(update)) != 0 || bind_int(stmt, &region) != 0)
        return -1;
    if (mysql_query(db, "START TRANSACTION") != 0)
        return -1;
    region = from;
    if (mysql_stmt_execute(stmt) != 0)
        goto fail;
    region = to;
    snprintf(sql, sizeof sql, "INSERT INTO sale VALUES (1, 2, %d, 'x')", region);
    if (mysql_query(db, sql) != 0)
        goto fail;
    if (mysql_query(db, "COMMIT") != 0)
        goto fail;
    return 0;
fail:
    mysql_query(db, "ROLLBACK");
    return -1;
}
