// Two constant indices name two elements.
// isolation: serializable
// expect: moves
#include "shop.h"

long visit(struct db *db)
{
    long ids[4] = {0};

    db_begin(db);
    ids[0] = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    ids[1] = db_number(db, "SELECT i_price FROM item WHERE i_id = 1");
    db_commit(db);
    return ids[0] + ids[1];
}
