// The key is a field of the elements, which the earlier loop has used.
// sort keys: yes
// expect: moves
#include "shop.h"

struct input {
    int count;
    struct {
        int shop;
        int amount;
    } line[15];
};

int order(struct db *db, struct input *in)
{
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < in->count; i++) {
        sum += db_number(db, "SELECT i_price FROM item WHERE i_shop = $1", in->line[i].shop);
    }
    for (int i = 0; i < in->count; i++) {
        if (db_format(db, "UPDATE shop SET s_total = s_total + %d WHERE s_id = %d",
                      in->line[i].amount, in->line[i].shop))
            goto fail;
    }
    if (db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = 1", sum))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
