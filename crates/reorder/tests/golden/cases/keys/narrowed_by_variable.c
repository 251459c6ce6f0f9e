// Different numbers may be equal in the variable.
// splits: yes
// distinct: id
// expect: unchanged
#include <stdio.h>
#include "shop.h"

void order(struct db *db, const long *id, int count)
{
    char sql[120];
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        int one = (int)id[i];
        snprintf(sql, sizeof sql, "SELECT r_total FROM region WHERE r_id = %d", one);
        sum += db_number(db, sql);
        db_format(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", one);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    db_commit(db);
}
