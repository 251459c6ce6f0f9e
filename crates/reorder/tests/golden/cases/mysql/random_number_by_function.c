// Both draw from the same sequence of random numbers.
// schema: CREATE FUNCTION dice() RETURNS DOUBLE RETURN RAND();
// api: mysql
// expect: unchanged
// keeps: function, the values of `rand` and `rand` change with each call
#include <stdlib.h>
#include <mysql.h>

int pay(MYSQL *db, long *out)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = RAND() WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "SELECT dice()"))
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
