// The last query shows which changes of others the update has met: the read of the shop must not see
// an older state than that.
// expect: unchanged
// keeps: read order, a later query sees what the write left
#include "shop.h"

long count(struct db *db)
{
    long name, total;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    name = db_number(db, "SELECT s_count FROM shop WHERE s_id = 1");
    total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1");
    db_commit(db);
    return name + total;
}
