// The server gives the number of the inserted row: it is not the one that the update names.
// schema: CREATE TABLE post (o_id SERIAL PRIMARY KEY, o_replies INTEGER NOT NULL);
// server: postgresql
// expect: moves
#include "shop.h"

int reply(struct db *db, int post)
{
    db_begin(db);
    if (db_run(db, "UPDATE post SET o_replies = o_replies + 1 WHERE o_id = $1", post))
        goto fail;
    if (db_run(db, "INSERT INTO post (o_replies) VALUES (0)"))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
