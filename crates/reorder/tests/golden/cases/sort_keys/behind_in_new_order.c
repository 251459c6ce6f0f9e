// In the new order, the loop over the regions comes behind one that has read all its keys. It is
// sorted there, and a second run finds nothing more to do.
// sort keys: yes
// expect: moves
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int region[15];
};

int order(struct db *db, struct input *in)
{
    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %d",
                      in->amount[i], in->region[i]))
            goto fail;
    }
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE shop SET s_total = s_total + %d WHERE s_region = %d AND s_id = 7",
                      in->amount[i], in->region[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
