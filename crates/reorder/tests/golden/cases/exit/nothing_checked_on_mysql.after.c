// A transaction that checks none of its writes reports nothing that could be wrong.
// server: mysql
// expect: moves
#include "shop.h"

void sell(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'new')");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
