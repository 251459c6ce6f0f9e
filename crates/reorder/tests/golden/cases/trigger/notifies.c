// The notifications reach the listeners in the order of the queries.
// schema: CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NOTIFY paid; RETURN NEW; END $$;
// schema: CREATE TRIGGER tells BEFORE UPDATE ON region FOR EACH ROW EXECUTE FUNCTION tell();
// schema: CREATE TRIGGER tells BEFORE UPDATE ON customer FOR EACH ROW EXECUTE FUNCTION tell();
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
