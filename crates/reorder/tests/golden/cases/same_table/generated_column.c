// The server computes `v_twice` when `v_once` changes.
// schema: CREATE TABLE visit (v_id INTEGER PRIMARY KEY, v_once INTEGER, v_twice INTEGER GENERATED ALWAYS AS (v_once * 2) STORED);
// expect: unchanged
// keeps: same table, both use the table `visit`
#include "shop.h"

long pay(struct db *db)
{
    long twice;

    db_begin(db);
    db_run(db, "UPDATE visit SET v_once = v_once + 1 WHERE v_id = 1");
    twice = db_number(db, "SELECT v_twice FROM visit WHERE v_id = 1");
    db_commit(db);
    return twice;
}
