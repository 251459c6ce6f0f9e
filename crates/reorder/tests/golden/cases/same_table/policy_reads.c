// The policy reads the column that the update assigns.
// schema: CREATE TABLE owned (o_id INTEGER PRIMARY KEY, o_n INTEGER, o_m INTEGER);
// schema: CREATE POLICY few ON owned USING (o_n > 4) WITH CHECK (true);
// expect: unchanged
// keeps: same table, owned
#include "shop.h"

int touch(struct db *db, char *seen)
{
    db_begin(db);
    if (db_run(db, "UPDATE owned SET o_n = 1") != 0)
        goto fail;
    if (db_text(db, seen, "SELECT count(o_m) FROM owned") != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
