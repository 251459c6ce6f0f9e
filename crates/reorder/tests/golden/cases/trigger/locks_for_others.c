// The lock of the trigger guards what follows it.
// schema: CREATE FUNCTION guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
// schema: CREATE TRIGGER guards BEFORE UPDATE ON region FOR EACH ROW EXECUTE FUNCTION guard();
// expect: unchanged
// keeps: trigger, `region`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
