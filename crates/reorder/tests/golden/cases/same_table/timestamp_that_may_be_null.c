// A TIMESTAMP that is declared NULL is not set at an update, and neither is the second one.
// server: mysql
// schema: CREATE TABLE page (p_id INTEGER PRIMARY KEY, p_hits INTEGER, p_at TIMESTAMP NULL, p_on TIMESTAMP);
// relaxed reads: yes
// expect: moves
#include "shop.h"

int touch(struct db *db, char *seen)
{
    db_begin(db);
    if (db_run(db, "UPDATE page SET p_hits = p_hits + 1 WHERE p_id = 1") != 0)
        goto fail;
    if (db_text(db, seen, "SELECT p_at FROM page WHERE p_id = 1") != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
