// The pointer leads into the element of its own iteration, whose old value it reads.
// server: mysql
// objective: position
// splits: yes
// expect: moves
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
    int *here;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        here = out->lines[i].totals;
        sum += *here;
        sum += db_number(db, "SELECT i_price FROM item WHERE i_id = ?", item + i);
        out->lines[i].totals[0] = db_run(
            db, "UPDATE region SET r_total = r_total + ? WHERE r_id = ?", item + i, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = ?", sum, customer);
    db_commit(db);
}
