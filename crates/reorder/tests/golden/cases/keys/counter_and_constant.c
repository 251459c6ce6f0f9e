// Each iteration names the row behind its own number.
// objective: position
// splits: yes
// relaxed reads: yes
// expect: moves
#include <stdio.h>
#include "shop.h"

void order(struct db *db, int count)
{
    char sql[120];
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        snprintf(sql, sizeof sql, "SELECT r_total FROM region WHERE r_id = %d", i + 1);
        sum += db_number(db, sql);
        db_format(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", i + 1);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    db_commit(db);
}
