// The upsert may insert the region that the shop refers to.
// expect: unchanged
// keeps: foreign key, a foreign key leads from `shop` to `region`
#include "shop.h"

void open_shop(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO region VALUES (3, 'south', 0, 0) "
               "ON CONFLICT (r_id) DO UPDATE SET r_count = region.r_count + 1");
    db_run(db, "INSERT INTO shop VALUES (5, 3, 'new', 0, 0)");
    db_commit(db);
}
