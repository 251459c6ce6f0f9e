// The schema does not show the body of the trigger's function: it may touch any table.
// expect: unchanged
// schema: CREATE TRIGGER t AFTER UPDATE ON shop FOR EACH ROW EXECUTE FUNCTION hidden();
// keeps: trigger, `shop`
#include "shop.h"

long pay(struct db *db)
{
    long balance;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    db_commit(db);
    return balance;
}
