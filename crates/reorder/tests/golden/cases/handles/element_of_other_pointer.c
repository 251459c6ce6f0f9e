// Two pointers to structures of one array: the element behind the first may be the second.
// expect: unchanged
// keeps: read after write
#include "shop.h"

struct line {
    long amount;
    long total;
};

void pay(struct db *db, const struct line *first, struct line *second)
{
    db_begin(db);
    second->total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", first[1].total);
    db_commit(db);
}
