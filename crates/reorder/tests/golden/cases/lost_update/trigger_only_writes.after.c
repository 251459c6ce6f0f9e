// The trigger writes a log, and reads nothing.
// server: postgresql
// schema: CREATE FUNCTION check_sale() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (l_text) VALUES (NEW.x_note); RETURN NEW; END $$;
// schema: CREATE TRIGGER check_sale BEFORE INSERT ON sale FOR EACH ROW EXECUTE FUNCTION check_sale();
// expect: moves
#include "shop.h"

int sell(struct db *db)
{
    db_begin(db);
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'a')"))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
