// The program may print the notices in their order.
// schema: CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'paid'; RETURN NEW; END $$;
// schema: CREATE TRIGGER says BEFORE UPDATE ON region FOR EACH ROW EXECUTE FUNCTION say();
// expect: unchanged
// keeps: trigger, `region`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 3");
    db_commit(db);
}
