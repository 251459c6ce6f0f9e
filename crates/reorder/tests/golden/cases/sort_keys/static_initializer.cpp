// The first loop reads a key in its first iteration only.
// sort keys: yes
// expect: unchanged
// not sorted: no loop before it
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int region[15];
};

int order(struct db *db, struct input *in)
{
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        static long first = in->region[i];
        sum += first;
    }
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %d",
                      in->amount[i], in->region[i]))
            goto fail;
    }
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", sum);
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
