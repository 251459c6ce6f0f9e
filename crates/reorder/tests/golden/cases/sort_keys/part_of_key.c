// The key has a column that is the same in all iterations.
// sort keys: yes
// expect: moves
// schema: CREATE TABLE stock (k_shop INTEGER, k_item INTEGER, k_count INTEGER NOT NULL, PRIMARY KEY (k_shop, k_item));
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in, long shop)
{
    long region[15];

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE stock SET k_count = k_count - %d"
                      " WHERE k_shop = %ld AND k_item = %ld",
                      in->amount[i], shop, region[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
