// expect: moves
#include "shop.h"

void pay(db *db, const int *items, int count)
{
    db_begin(db);
    for (int i = 0; i < count; i++) {
        if (items[i] < 0) {
            db_rollback(db);
            throw i;
        }
    }
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
