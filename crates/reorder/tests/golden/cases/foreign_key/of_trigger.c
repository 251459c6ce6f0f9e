// The trigger inserts a row that refers to the region.
// schema: CREATE TABLE visit (v_region INTEGER NOT NULL REFERENCES region (r_id));
// schema: CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO visit VALUES (NEW.c_visits); RETURN NEW; END $$;
// schema: CREATE TRIGGER notes AFTER UPDATE ON customer FOR EACH ROW EXECUTE FUNCTION note();
// expect: unchanged
// keeps: trigger, `customer`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO region VALUES (8, 'north', 0, 0)");
    db_run(db, "UPDATE customer SET c_visits = 8 WHERE c_id = 2");
    db_commit(db);
}
