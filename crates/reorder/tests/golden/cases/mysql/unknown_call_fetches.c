// The function of another file fetches the result of the `SELECT`, before which no other query
// may come.
// api: mysql
// expect: unchanged
// keeps: barrier, last query before it has left: calls `fetch_one`
#include <mysql.h>

long fetch_one(MYSQL *db);

int pay(MYSQL *db, long *out)
{
    if (mysql_query(db, "START TRANSACTION"))
        return -1;
    if (mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (mysql_query(db, "SELECT c_visits FROM customer WHERE c_id = 2"))
        goto fail;
    *out = fetch_one(db);
    if (mysql_query(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
