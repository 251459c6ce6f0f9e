// The read sees what the later part of the iteration before wrote.
// server: mysql
// splits: yes
// expect: unchanged
#include "shop.h"

struct line {
    int totals[2];
};

struct output {
    struct line lines[15];
};

void order(struct db *db, struct output *out, long item, long region, long customer)
{
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        if (i > 0)
            sum += out->lines[i - 1].totals[0];
        sum += db_number(db, "SELECT i_price FROM item WHERE i_id = ?", item + i);
        out->lines[i].totals[0] = db_run(
            db, "UPDATE region SET r_total = r_total + ? WHERE r_id = ?", item + i, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = ?", sum, customer);
    db_commit(db);
}
