// Which query fails first decides on the status.
// sort keys: yes
// expect: unchanged
// not sorted: exits of the loop differ
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
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %ld",
                      in->amount[i], region[i])) {
            db_rollback(db);
            return -1;
        }
        if (db_format(db, "UPDATE region SET r_count = r_count + 1 WHERE r_id = %ld", region[i])) {
            db_rollback(db);
            return -2;
        }
    }
    db_commit(db);
    return 0;
}
