// The array is a field behind a pointer.
// objective: position
// splits: yes
// distinct: id
// relaxed reads: yes
// expect: moves
#include <stdio.h>
#include "shop.h"

struct input {
    int count;
    long long id[15];
};

void order(struct db *db, const struct input *in)
{
    char sql[120];
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        snprintf(sql, sizeof sql, "SELECT r_total FROM region WHERE r_id = %lld", in->id[i]);
        sum += db_number(db, sql);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    for (int i = 0; i < in->count; i++) {
        db_format(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %lld", in->id[i]);
    }
    db_commit(db);
}
