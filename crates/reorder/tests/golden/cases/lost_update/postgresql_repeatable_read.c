// The update fails if another transaction has changed the region since the snapshot.
// isolation: repeatable read
// expect: moves
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT max(x_amount) + 1 FROM sale"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, $1, NULL)", atoi(text)))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
