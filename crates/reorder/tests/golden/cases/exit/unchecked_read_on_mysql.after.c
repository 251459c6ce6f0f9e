// A read that locks nothing does not roll back.
// server: mysql
// expect: moves
#include "shop.h"

int sell(struct db *db)
{
    db_begin(db);
    db_number(db, "SELECT count(*) FROM customer");
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'new')"))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
