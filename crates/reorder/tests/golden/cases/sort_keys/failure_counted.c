// The loop counts the failed updates and goes on.
// sort keys: yes
// expect: unchanged
// not sorted: it reads `failed`
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    int failed = 0;
    long region[15];

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    for (int i = 0; i < in->count; i++) {
        failed += db_format(db, "UPDATE region SET r_count = r_count + 1 WHERE r_id = %ld",
                            region[i]) != 0;
    }
    db_commit(db);
    return failed;
}
