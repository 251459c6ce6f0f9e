// The trigger waits for the one row that it updates.
// server: postgresql
// schema: CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE item SET i_stock = i_stock - 1 WHERE i_id = NEW.x_item AND i_stock > 0; RETURN NULL; END $$;
// schema: CREATE TRIGGER t AFTER INSERT ON sale FOR EACH ROW EXECUTE FUNCTION f();
// expect: moves
#include "shop.h"

int sell(struct db *db, int shop)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES ($1, 2, 3, NULL)", shop))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
