// A later query that is not checked would clear the error between a query and the code that prints
// it. A deadlock of it undoes the sale, too.
// statement: sale = INSERT INTO sale VALUES (?, ?, ?, NULL)
// api: mysql
// expect: unchanged
// keeps: exit, the server may roll back what stands before it
#include <stdio.h>
#include <string.h>
#include <mysql.h>

int pay(MYSQL *db, MYSQL_STMT *sale, MYSQL_BIND *params)
{
    if (mysql_query(db, "BEGIN"))
        goto fail;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_stmt_bind_param(sale, params) || mysql_stmt_execute(sale))
        goto fail;
    mysql_query(db, "INSERT INTO log VALUES ('paid')");
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    fprintf(stderr, "%s\n", mysql_error(db));
    mysql_rollback(db);
    return -1;
}
