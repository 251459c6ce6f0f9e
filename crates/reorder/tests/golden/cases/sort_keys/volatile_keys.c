// Something outside of the program may change the keys.
// sort keys: yes
// expect: unchanged
// not sorted: volatile
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

struct keys {
    volatile long region[15];
};

int order(struct db *db, struct input *in)
{
    struct keys keys;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        keys.region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %ld",
                      in->amount[i], keys.region[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
