// A field of the array's elements differs from element to element; another one is written.
// objective: position
// splits: yes
// distinct: lines.region
// relaxed reads: yes
// expect: moves
#include <stdio.h>
#include "shop.h"

struct line {
    int region;
    int amount;
};

struct input {
    int count;
    struct line lines[15];
};

void order(struct db *db, struct input *in)
{
    char sql[120];
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        snprintf(sql, sizeof sql, "SELECT r_total FROM region WHERE r_id = %d", in->lines[i].region);
        sum += db_number(db, sql);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    for (int i = 0; i < in->count; i++) {
        db_format(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", in->lines[i].region);
        in->lines[i].amount = 1;
    }
    db_commit(db);
}
