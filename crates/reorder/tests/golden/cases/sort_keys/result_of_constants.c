// One of several positive constants is left behind the loop.
// sort keys: yes
// expect: unchanged
// not sorted: it reads `kind`, which the loop has written
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    int kind = 3;
    long region[15];

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %ld",
                      in->amount[i], region[i]))
            goto fail;
        if (in->amount[i] > 5)
            kind = 1;
        else
            kind = 2;
    }
    db_commit(db);
    return kind;
fail:
    db_rollback(db);
    return -1;
}
