// The trigger writes the log; the query reads customers.
// server: mysql
// expect: moves
// schema: CREATE TRIGGER t AFTER UPDATE ON shop FOR EACH ROW INSERT INTO log VALUES ('changed');
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
