// A serializable transaction sees no order of its reads.
// sort keys: yes
// expect: moves
// isolation: serializable
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    char name[32];
    long region[15];

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    for (int i = 0; i < in->count; i++) {
        if (db_text(db, name, "SELECT r_name FROM region WHERE r_id = $1", region[i]))
            goto fail;
        if (db_format(db, "UPDATE region SET r_count = %d WHERE r_id = %ld", name[0], region[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
