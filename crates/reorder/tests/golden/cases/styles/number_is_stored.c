// A number of an array is stored in memory of the caller: the address of the array does not escape.
// expect: moves
#include "shop.h"

struct totals {
    long first;
};

void visit(struct db *db, struct totals *totals, long *out)
{
    long found[2];
    long *pointer = out;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    found[0] = db_number(db, "SELECT c_visits FROM customer WHERE c_id = 2");
    found[1] = db_number(db, "SELECT i_price FROM item WHERE i_id = 3");
    totals->first = found[0];
    *pointer = found[1];
    db_run(db, "INSERT INTO sale VALUES ($1, $2, 1, 'x')", found[0], found[1]);
    db_commit(db);
}
