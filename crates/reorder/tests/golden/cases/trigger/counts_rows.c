// The trigger numbers the rows of the table.
// schema: CREATE TABLE stay (y_id INTEGER PRIMARY KEY, y_n INTEGER);
// schema: CREATE FUNCTION n() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.y_n := (SELECT count(*) FROM stay); RETURN NEW; END $$;
// schema: CREATE TRIGGER ns BEFORE INSERT ON stay FOR EACH ROW EXECUTE FUNCTION n();
// expect: unchanged
// keeps: trigger, `stay`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO stay (y_id) VALUES (1)");
    db_run(db, "INSERT INTO stay (y_id) VALUES (2)");
    db_commit(db);
}
