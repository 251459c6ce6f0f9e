// server: mysql
// schema: CREATE TABLE audit (a_text VARCHAR(30)) ENGINE=InnoDB;
// schema: ALTER TABLE audit ENGINE = Aria;
// expect: unchanged
// keeps: barrier, the engine Aria
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "INSERT INTO audit VALUES ('paid')");
    db_commit(db);
}
