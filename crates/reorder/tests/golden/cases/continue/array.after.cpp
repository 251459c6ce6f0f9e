// C++ allows no jump past an initializer, so the array that keeps which iterations go on is cleared
// by a call.
// objective: position
// splits: yes
// expect: moves
#include <cstring>
#include "shop.h"

int order(struct db *db, const long *items, long region, long customer)
{
    char name[32];
    long sum = 0;

    db_begin(db);
    char reached_at[15]; memset(reached_at, 0, sizeof reached_at);
    for (int i = 0; i < 15; i++) {
        if (db_text(db, name, "SELECT i_name FROM item WHERE i_id = $1", items[i]) != 0)
            goto fail;
        if (name[0] == 0) {
            sum++;
            continue;
        }
        reached_at[i] = 1;
    }
    if (db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = $2", sum, customer))
        goto fail;
    for (int i = 0; i < 15; i++) {
        if (!reached_at[i]) continue;
        if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", region) != 0)
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
