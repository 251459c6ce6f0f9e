// From an element's address the read comes to the element before, which the later part of the
// iteration before writes.
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
    struct line *line;

    db_begin(db);
    for (int i = 0; i < 15; i++) {
        line = &out->lines[i];
        sum += line[i > 0 ? -1 : 0].totals[0];
        sum += db_number(db, "SELECT i_price FROM item WHERE i_id = ?", item + i);
        out->lines[i].totals[0] = db_run(
            db, "UPDATE region SET r_total = r_total + ? WHERE r_id = ?", item + i, region);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - ? WHERE c_id = ?", sum, customer);
    db_commit(db);
}
