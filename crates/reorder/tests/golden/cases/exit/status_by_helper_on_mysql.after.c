// As status_by_helper.c, with the number that the query itself returns.
// api: mysql
// schema: CREATE TABLE visit (v_id INTEGER PRIMARY KEY, v_note TEXT);
// function: pay
// expect: moves
#include <mysql.h>

static int run(MYSQL *my, const char *sql)
{
    if (mysql_query(my, sql))
        return 1;
    return 0;
}

int pay(MYSQL *my)
{
    if (run(my, "BEGIN"))
        return -1;
    if (run(my, "INSERT INTO visit VALUES (7, 'x')"))
        goto fail;
    if (run(my, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    return run(my, "COMMIT");
fail:
    mysql_rollback(my);
    return -2;
}
