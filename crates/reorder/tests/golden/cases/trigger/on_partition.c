// schema: CREATE TABLE stay (y_id INTEGER PRIMARY KEY, y_name VARCHAR(30)) PARTITION BY RANGE (y_id);
// schema: CREATE TABLE stay1 PARTITION OF stay FOR VALUES FROM (1) TO (99);
// schema: CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE region SET r_total = 1; RETURN NEW; END $$;
// schema: CREATE TRIGGER puts AFTER UPDATE ON stay1 FOR EACH ROW EXECUTE FUNCTION put();
// expect: unchanged
// keeps: trigger, `stay`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE stay SET y_name = 'c' WHERE y_id = 2");
    db_commit(db);
}
