// The statements are prepared and bound in another file, and what the function writes is its own:
// nothing else knows it.
// api: mysql
// statement: office->pay_region = UPDATE region SET r_total = r_total + 1 WHERE r_id = ?
// expect: moves
#include <stdio.h>
#include <mysql.h>

struct office {
    MYSQL *db;
    MYSQL_STMT *pay_region;
};

int pay(struct office *office, int from, int to)
{
    char sql[100];
    int region;

    if (mysql_query(office->db, "START TRANSACTION") != 0)
        return -1;
    region = from;
    if (mysql_stmt_execute(office->pay_region) != 0)
        goto fail;
    region = to;
    snprintf(sql, sizeof sql, "INSERT INTO sale VALUES (1, 2, %d, 'x')", region);
    if (mysql_query(office->db, sql) != 0)
        goto fail;
    if (mysql_query(office->db, "COMMIT") != 0)
        goto fail;
    return 0;
fail:
    mysql_query(office->db, "ROLLBACK");
    return -1;
}
