// No earlier loop shows that the elements may be read.
// sort keys: yes
// expect: unchanged
// not sorted: no loop before it
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %d",
                      in->amount[i], in->shop[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
