// Only the later part may end an iteration: nothing is kept.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"

void order(struct db *db, const long *items, int count, long region, long customer)
{
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        sum += db_number(db, "SELECT i_price FROM item WHERE i_id = $1", items[i]);
    }
    for (int i = 0; i < count; i++) {
        if (items[i] == 3)
            continue;
        if (items[i] == 7)
            continue;
        db_run(db, "INSERT INTO log VALUES ('region')");
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    for (int i = 0; i < count; i++) {
        if (items[i] == 3)
            continue;
        db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", region);
    }
    db_commit(db);
}
