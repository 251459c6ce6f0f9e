// The customer refers to the new key, which must exist first.
// expect: unchanged
// keeps: foreign key, a foreign key leads from `customer` to `shop`
#include "shop.h"

void renumber(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_id = 7 WHERE s_id = 1");
    db_run(db, "UPDATE customer SET c_shop = 7 WHERE c_id = 2");
    db_commit(db);
}
