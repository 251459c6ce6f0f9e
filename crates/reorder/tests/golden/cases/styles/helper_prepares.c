// A function prepares each statement through the address of its handle.
// api: mysql
// expect: moves
#include <string.h>
#include <mysql.h>

struct application {
    MYSQL *db;
    MYSQL_STMT *pay_region;
    MYSQL_STMT *add_sale;
};

static int prepare(MYSQL *db, MYSQL_STMT **handle, const char *sql)
{
    *handle = mysql_stmt_init(db);
    return *handle != NULL ? mysql_stmt_prepare(*handle, sql, strlen(sql)) : -1;
}

int open_application(struct application *app)
{
    if (prepare(app->db, &app->pay_region,
                "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?") != 0)
        return -1;
    return prepare(app->db, &app->add_sale, "INSERT INTO sale VALUES (1, ?, 1, 'x')");
}

static int run(MYSQL_STMT *stmt, int id)
{
    MYSQL_BIND bind = { .buffer_type = MYSQL_TYPE_LONG, .buffer = &id };

    if (mysql_stmt_bind_param(stmt, &bind) != 0)
        return -1;
    return mysql_stmt_execute(stmt);
}

int pay(struct application *app, int region, int customer)
{
    if (mysql_query(app->db, "BEGIN") != 0)
        return -1;
    if (run(app->pay_region, region) != 0)
        goto fail;
    if (run(app->add_sale, customer) != 0)
        goto fail;
    if (mysql_commit(app->db) != 0)
        goto fail;
    return 0;
fail:
    mysql_rollback(app->db);
    return -1;
}
