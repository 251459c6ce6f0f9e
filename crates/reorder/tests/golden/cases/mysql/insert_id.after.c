// The number is that of the insert into sale, which moves with the question.
// api: mysql
// schema: CREATE TABLE ticket (t_id INTEGER PRIMARY KEY AUTO_INCREMENT, t_name VARCHAR(20));
// expect: moves
#include <mysql.h>

unsigned long long pay(MYSQL *db)
{
    unsigned long long id;

    mysql_query(db, "START TRANSACTION");
    mysql_query(db, "INSERT INTO ticket (t_name) VALUES ('x')");
    id = mysql_insert_id(db);
    mysql_query(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    mysql_query(db, "COMMIT");
    return id;
}
