// Each hundredth run commits what was done so far.
// function: load
// expect: unchanged
// keeps: barrier
#include "shop.h"

void load(struct db *db, int count)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    for (int i = 0; i < count; i++) {
        db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", i);
        if (i % 100 == 99) {
            db_commit(db);
            db_begin(db);
        }
        db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = $1", i);
    }
    db_commit(db);
}
