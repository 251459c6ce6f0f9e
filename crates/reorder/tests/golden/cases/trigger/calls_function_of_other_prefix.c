// Only the function of another prefix is known.
// schema: CREATE FUNCTION tax.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
// schema: CREATE TRIGGER notes BEFORE UPDATE ON region FOR EACH ROW EXECUTE FUNCTION old.note();
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
