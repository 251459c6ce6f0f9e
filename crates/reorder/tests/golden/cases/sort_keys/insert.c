// The order of new rows may be seen.
// sort keys: yes
// expect: unchanged
// not sorted: it inserts rows
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
        if (db_format(db, "INSERT INTO sale (x_item, x_customer, x_amount) VALUES (%ld, 1, 1)",
                      region[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
