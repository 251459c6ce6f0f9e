// The error may be that of the BEGIN, until the first query has succeeded.
// statement: sale = INSERT INTO sale VALUES (?, ?, ?, NULL)
// api: mysql
// keeps: read after write, it shows that the connection has no error
// expect: unchanged
#include <stdio.h>
#include <string.h>
#include <mysql.h>

int pay(MYSQL *db, MYSQL_STMT *sale, MYSQL_BIND *params)
{
    mysql_query(db, "BEGIN");
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_stmt_bind_param(sale, params) || mysql_stmt_execute(sale))
        goto fail;
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    fprintf(stderr, "%s\n", mysql_error(db));
    mysql_rollback(db);
    return -1;
}
