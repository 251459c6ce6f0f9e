// The code behind the label prints which iteration has failed.
// sort keys: yes
// expect: unchanged
// not sorted: it reads `i`, which the loop has written
#include <stdio.h>
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    int i;
    long region[15];

    db_begin(db);
    for (i = 0; i < in->count; i++) {
        region[i] = db_number(db, "SELECT s_region FROM shop WHERE s_id = $1", in->shop[i]);
    }
    for (i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %ld",
                      in->amount[i], region[i]))
            goto fail;
    }
    db_commit(db);
    return 0;
fail:
    printf("line %d\n", i);
    db_rollback(db);
    return -1;
}
