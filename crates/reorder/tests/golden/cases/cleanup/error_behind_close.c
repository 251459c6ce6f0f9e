// The end of a statement clears the error of the connection, which is printed behind it.
// api: mysql
// isolation: serializable
// expect: unchanged
// keeps: read after write, it writes `hot`
#include <stddef.h>
#include <stdio.h>

#include <mysql.h>

int pay(MYSQL *db)
{
    static const char h[] = "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1";
    static const char v[] = "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 1";
    MYSQL_STMT *hot = NULL, *vis = NULL;
    int status = -1;
    if (mysql_query(db, "START TRANSACTION") != 0) return -1;
    hot = mysql_stmt_init(db);
    if (hot == NULL || mysql_stmt_prepare(hot, h, sizeof h - 1) != 0) goto undo;
    if (mysql_stmt_execute(hot) != 0) goto undo;
    vis = mysql_stmt_init(db);
    if (vis == NULL || mysql_stmt_prepare(vis, v, sizeof v - 1) != 0) goto undo;
    if (mysql_stmt_execute(vis) != 0) goto undo;
    if (mysql_query(db, "COMMIT") != 0) goto undo;
    status = 0;
    goto done;
undo:
    if (hot) { mysql_stmt_close(hot); hot = NULL; }
    fprintf(stderr, "%s", mysql_error(db));
    mysql_query(db, "ROLLBACK");
done:
    if (hot) mysql_stmt_close(hot);
    if (vis) mysql_stmt_close(vis);
    return status;
}
