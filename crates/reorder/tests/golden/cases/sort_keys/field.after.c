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
    int sorted_i[15];
    int sorted_count;
    sorted_count = 0;
    for (int i = 0; i < in->count; i++) {
        int sorted_at = sorted_count++;
        for (; sorted_at > 0 && in->line[sorted_i[sorted_at - 1]].shop > in->line[i].shop; sorted_at--)
            sorted_i[sorted_at] = sorted_i[sorted_at - 1];
        sorted_i[sorted_at] = i;
    }
    for (int sorted_next = 0; sorted_next < sorted_count; sorted_next++) {
        int i = sorted_i[sorted_next];
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
