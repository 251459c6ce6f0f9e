// Control leaves the loop because of the input: which queries fail before it differs.
// sort keys: yes
// expect: unchanged
// not sorted: for another reason than a failed query
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    long region[15];

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    for (int i = 0; i < in->count; i++) {
        if (in->amount[i] < 0)
            goto fail;
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %ld",
                      in->amount[i], region[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
