// What the function does a rollback may not undo.
// schema: CREATE FUNCTION post() RETURNS trigger LANGUAGE plpython3u AS $$ send() $$;
// schema: CREATE TRIGGER posts AFTER UPDATE ON region FOR EACH ROW EXECUTE FUNCTION post();
// expect: unchanged
// keeps: trigger, `region`
#include "shop.h"

int pay(struct db *db, int amount)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (amount < 0) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
