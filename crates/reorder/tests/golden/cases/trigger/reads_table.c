// The trigger counts the customers.
// server: mysql
// schema: CREATE TRIGGER t BEFORE UPDATE ON region FOR EACH ROW SET NEW.r_count = (SELECT count(*) FROM customer);
// expect: unchanged
// keeps: trigger, `region`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "DELETE FROM customer WHERE c_id = 2");
    db_commit(db);
}
