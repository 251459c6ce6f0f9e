// schema: CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF pg_trigger_depth() = 1 THEN NEW.r_name := upper(NEW.r_name); END IF; RETURN NEW; END $$;
// schema: CREATE TRIGGER stamps BEFORE UPDATE ON region FOR EACH ROW EXECUTE FUNCTION stamp();
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 3");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
