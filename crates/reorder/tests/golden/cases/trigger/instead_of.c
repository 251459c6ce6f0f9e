// schema: CREATE VIEW totals AS SELECT i_id, i_stock FROM item;
// schema: CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE region SET r_total = 1; RETURN NEW; END $$;
// schema: CREATE TRIGGER puts INSTEAD OF UPDATE ON totals FOR EACH ROW EXECUTE FUNCTION put();
// expect: unchanged
// keeps: trigger, `totals`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE totals SET i_stock = 3 WHERE i_id = 2");
    db_commit(db);
}
