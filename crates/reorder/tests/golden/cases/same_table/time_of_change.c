// MySQL sets `v_changed` with each update.
// server: mysql
// schema: CREATE TABLE visit (v_id INTEGER PRIMARY KEY, v_count INTEGER, v_changed TIMESTAMP ON UPDATE CURRENT_TIMESTAMP);
// expect: unchanged
// keeps: same table, both use the table `visit`
#include "shop.h"

int pay(struct db *db, char *changed)
{
    db_begin(db);
    db_run(db, "UPDATE visit SET v_count = v_count + 1 WHERE v_id = 1");
    db_text(db, changed, "SELECT v_changed FROM visit WHERE v_id = 1");
    db_commit(db);
    return 0;
}
