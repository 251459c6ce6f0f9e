// The elements of one array `ids` differ, but each iteration takes its element from another array.
// splits: yes
// distinct: ids
// expect: unchanged
#include <stdio.h>
#include "shop.h"

struct line {
    int ids[20];
};

void order(struct db *db, const struct line *lines, int count)
{
    char sql[120];
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        snprintf(sql, sizeof sql, "SELECT r_total FROM region WHERE r_id = %d", lines[i].ids[i]);
        sum += db_number(db, sql);
        db_format(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", lines[i].ids[i]);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    db_commit(db);
}
