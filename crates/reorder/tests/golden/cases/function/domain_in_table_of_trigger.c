// The trigger inserts a row, whose column is checked.
// schema: CREATE FUNCTION open(n integer) RETURNS bigint LANGUAGE sql AS $$ SELECT sum(r_total) FROM region $$;
// schema: CREATE DOMAIN share AS integer CHECK (VALUE < open(VALUE));
// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used share);
// schema: CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO quota VALUES (1, 2); RETURN NULL; END $$;
// schema: CREATE TRIGGER note AFTER UPDATE ON item FOR EACH ROW EXECUTE FUNCTION note();
// expect: unchanged
// keeps: trigger
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE item SET i_stock = 3 WHERE i_id = 2");
    db_commit(db);
}
