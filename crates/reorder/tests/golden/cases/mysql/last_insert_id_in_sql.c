// The number is that of the insert before it.
// server: mysql
// schema: CREATE TABLE bill (b_id INTEGER PRIMARY KEY AUTO_INCREMENT, b_n INTEGER) ENGINE=InnoDB;
// schema: CREATE TABLE line (l_id INTEGER PRIMARY KEY AUTO_INCREMENT, l_bill INTEGER) ENGINE=InnoDB;
// expect: unchanged
// keeps: function, `nextval`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO bill (b_n) VALUES (1)");
    db_run(db, "UPDATE region SET r_total = LAST_INSERT_ID() WHERE r_id = 1");
    db_run(db, "INSERT INTO line (l_bill) VALUES (7)");
    db_commit(db);
}
