// The loop writes the array: an element may get the value that another one had.
// splits: yes
// distinct: id
// expect: unchanged
#include <stdio.h>
#include "shop.h"

struct input {
    int count;
    int id[15];
};

void order(struct db *db, struct input *in)
{
    char sql[120];
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        snprintf(sql, sizeof sql, "SELECT r_total FROM region WHERE r_id = %d", in->id[i]);
        sum += db_number(db, sql);
        in->id[i] = (int)sum;
        db_format(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", in->id[i]);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    db_commit(db);
}
