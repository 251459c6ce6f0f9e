// The loops use elements of two arrays.
// sort keys: yes
// expect: unchanged
// not sorted: which keys
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in, struct input *other)
{
    struct input *use = in;
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        sum += db_number(db, "SELECT i_price FROM item WHERE i_shop = $1", use->shop[i]);
    }
    use = other;
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %d",
                      in->amount[i], use->shop[i]))
            goto fail;
    }
    if (db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 1", sum))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
