// A count does not find the rows of transactions that have not committed. Behind the lock it finds
// those of all that have held it.
// expect: moves
// keeps: lost update, others from writing `sale`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'seat')"))
        goto fail;
    if (db_text(db, text, "SELECT count(*) FROM sale WHERE x_item = 1"))
        goto fail;
    if (atoi(text) >= 100)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
