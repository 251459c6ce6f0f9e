// A walk along a list may lead to the element that was written before.
// expect: unchanged
// keeps: read after write
#include "shop.h"

struct line {
    struct line *next;
    long amount;
};

void visit(struct db *db, struct line *first)
{
    struct line *last = first;

    while (last->next != 0)
        last = last->next;
    db_begin(db);
    first->next->amount = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", last->amount);
    db_commit(db);
}
