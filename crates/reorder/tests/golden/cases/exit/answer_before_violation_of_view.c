// The view may refuse the row; the program reports that the shop is missing first.
// schema: CREATE VIEW poor AS SELECT c_id, c_balance FROM customer WHERE c_balance < 0 WITH CHECK OPTION;
// expect: unchanged
// keeps: exit, what a query returned
#include "shop.h"

int pay(struct db *db, int shop)
{
    long count;

    db_begin(db);
    count = db_number(db, "SELECT s_count FROM shop WHERE s_id = $1 FOR UPDATE", shop);
    if (count == 0) {
        db_rollback(db);
        return -2;
    }
    if (db_run(db, "INSERT INTO poor VALUES (3, 1)")) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
