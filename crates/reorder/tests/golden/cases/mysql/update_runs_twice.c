// An update is run twice with one handle. It leaves no rows on the way, so that both executions move
// behind the insert.
// api: mysql
// function: pay
// expect: moves
#include <string.h>
#include <mysql.h>

struct office {
    MYSQL *db;
    MYSQL_STMT *pay_region;
    int region;
};

int office_open(struct office *office)
{
    const char *sql = "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?";
    MYSQL_BIND bind[1];

    office->pay_region = mysql_stmt_init(office->db);
    if (mysql_stmt_prepare(office->pay_region, sql, strlen(sql)) != 0)
        return -1;
    memset(bind, 0, sizeof bind);
    bind[0].buffer_type = MYSQL_TYPE_LONG;
    bind[0].buffer = &office->region;
    return mysql_stmt_bind_param(office->pay_region, bind) ? -1 : 0;
}

int pay(struct office *office, int from, int to)
{
    if (mysql_query(office->db, "START TRANSACTION") != 0)
        return -1;
    office->region = from;
    if (mysql_stmt_execute(office->pay_region) != 0)
        goto fail;
    office->region = to;
    if (mysql_stmt_execute(office->pay_region) != 0)
        goto fail;
    if (mysql_query(office->db, "INSERT INTO sale VALUES (1, 2, 3, 'x')") != 0)
        goto fail;
    if (mysql_query(office->db, "COMMIT") != 0)
        goto fail;
    return 0;
fail:
    mysql_query(office->db, "ROLLBACK");
    return -1;
}
