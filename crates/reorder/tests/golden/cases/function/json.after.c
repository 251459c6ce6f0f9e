// server: mysql
// schema: CREATE TABLE doc (d_id INT PRIMARY KEY, d_text longtext CHECK (json_valid(`d_text`))) ENGINE=InnoDB;
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE doc SET d_text = '{}' WHERE d_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
