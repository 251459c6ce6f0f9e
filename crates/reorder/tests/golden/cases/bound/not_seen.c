// The statements are prepared and bound in another file: the update may read any memory that
// exists longer than the function.
// api: mysql
// statement: office->pay_region = UPDATE region SET r_total = r_total + 1 WHERE r_id = ?
// expect: unchanged
// keeps: write after read, not every path of the function binds it all before it runs
#include <stdio.h>
#include <mysql.h>

struct office {
    MYSQL *db;
    MYSQL_STMT *pay_region;
    int region;
};

int pay(struct office *office, int from, int to)
{
    char sql[100];

    if (mysql_query(office->db, "START TRANSACTION") != 0)
        return -1;
    office->region = from;
    if (mysql_stmt_execute(office->pay_region) != 0)
        goto fail;
    office->region = to;
    snprintf(sql, sizeof sql, "INSERT INTO sale VALUES (1, 2, %d, 'x')", office->region);
    if (mysql_query(office->db, sql) != 0)
        goto fail;
    if (mysql_query(office->db, "COMMIT") != 0)
        goto fail;
    return 0;
fail:
    mysql_query(office->db, "ROLLBACK");
    return -1;
}
