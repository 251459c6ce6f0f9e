// Another function has bound the parameters, and this one binds them anew on one path only.
// api: mysql
// function: pay
// expect: unchanged
// keeps: write after read, `region` of `struct office`
#include <stdio.h>
#include <string.h>
#include <mysql.h>

struct office {
    MYSQL *db;
    MYSQL_STMT *pay_region;
    int region;
};

static int bind_int(MYSQL_STMT *stmt, int *value)
{
    MYSQL_BIND bind[1];

    memset(bind, 0, sizeof bind);
    bind[0].buffer_type = MYSQL_TYPE_LONG;
    bind[0].buffer = value;
    return mysql_stmt_bind_param(stmt, bind) ? -1 : 0;
}

int office_open(struct office *office)
{
    const char *sql = "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?";

    office->pay_region = mysql_stmt_init(office->db);
    if (mysql_stmt_prepare(office->pay_region, sql, strlen(sql)) != 0)
        return -1;
    return bind_int(office->pay_region, &office->region);
}

int pay(struct office *office, int from)
{
    char sql[100];

    if (mysql_query(office->db, "START TRANSACTION") != 0)
        return -1;
    if (from > 0)
        bind_int(office->pay_region, &from);
    if (mysql_stmt_execute(office->pay_region) != 0)
        goto fail;
    office->region = 1;
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
