// The deletion of the item deletes the rows that the second query counts.
// server: postgresql
// schema: CREATE TABLE tag (t_item INTEGER REFERENCES item (i_id) ON DELETE CASCADE);
// expect: unchanged
// keeps: lost update, others from writing `tag`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT count(*) FROM tag"))
        goto fail;
    if (db_run(db, "INSERT INTO log VALUES ($1)", text))
        goto fail;
    if (db_run(db, "DELETE FROM item WHERE i_id = 5"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
