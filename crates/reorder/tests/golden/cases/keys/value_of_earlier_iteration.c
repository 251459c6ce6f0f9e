// The read uses the value of the iteration before, though only one assignment reaches it.
// splits: yes
// distinct: id
// expect: unchanged
#include <stdio.h>
#include "shop.h"

void order(struct db *db, const int *id, int count)
{
    char sql[120];
    long one, sum = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        if (i > 0) {
            snprintf(sql, sizeof sql, "SELECT r_total FROM region WHERE r_id = %ld", one);
            sum += db_number(db, sql);
        }
        one = id[i];
        db_format(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", id[i]);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    db_commit(db);
}
