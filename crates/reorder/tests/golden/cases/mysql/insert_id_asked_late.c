// The number is that of the insert; the query behind it only reads and leaves it.
// api: mysql
// schema: CREATE TABLE ticket (t_id INTEGER PRIMARY KEY AUTO_INCREMENT, t_name VARCHAR(20));
// expect: unchanged
#include <mysql.h>

unsigned long long pay(MYSQL *db)
{
    unsigned long long id;

    mysql_query(db, "START TRANSACTION");
    mysql_query(db, "INSERT INTO ticket (t_name) VALUES ('x')");
    mysql_query(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    mysql_free_result(mysql_store_result(db));
    id = mysql_insert_id(db);
    mysql_query(db, "COMMIT");
    return id;
}
