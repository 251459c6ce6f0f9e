// The loop is split, and both parts use the keys of the input.
// sort keys: yes
// expect: moves
// splits: yes
// server: sqlite
#include "shop.h"

struct input {
    int count;
    int amount[15];
    int shop[15];
};

int order(struct db *db, struct input *in)
{
    char name[32];
    int length = 0;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        if (db_text(db, name, "SELECT i_name FROM item WHERE i_id = $1", in->shop[i]))
            goto fail;
        length += name[0] != 0;
    }
    int sorted_i[15];
    int sorted_count;
    sorted_count = 0;
    for (int i = 0; i < in->count; i++) {
        int sorted_at = sorted_count++;
        for (; sorted_at > 0 && in->shop[sorted_i[sorted_at - 1]] > in->shop[i]; sorted_at--)
            sorted_i[sorted_at] = sorted_i[sorted_at - 1];
        sorted_i[sorted_at] = i;
    }
    for (int sorted_next = 0; sorted_next < sorted_count; sorted_next++) {
        int i = sorted_i[sorted_next];
        if (db_format(db, "UPDATE region SET r_total = r_total + %d WHERE r_id = %d",
                      in->amount[i], in->shop[i]))
            goto fail;
    }
    if (db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 1", length))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
