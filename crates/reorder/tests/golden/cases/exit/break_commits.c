// `rc` is 0 when a `break` behind the second query may be taken, which then commits.
// api: mysql
// function: pay
// expect: unchanged
#include <mysql.h>

int pay(MYSQL *conn)
{
    int rc = -1;

    if (mysql_query(conn, "BEGIN"))
        return -1;
    do {
        if (mysql_query(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
            break;
        rc = 0;
        if (mysql_query(conn, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"))
            break;
    } while (0);
    if (rc == 0)
        return mysql_query(conn, "COMMIT");
    mysql_query(conn, "ROLLBACK");
    return rc;
}
