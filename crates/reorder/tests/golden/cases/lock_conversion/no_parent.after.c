// Sales refer to no table.
// server: mysql
// expect: moves
#include "shop.h"

void join(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'new')");
    db_run(db, "UPDATE shop SET s_count = s_count + 1 WHERE s_id = 1");
    db_commit(db);
}
