// The trigger counts the sales: behind the insert, the lock of the region would not keep
// others from inserting at the same time.
// server: postgresql
// schema: CREATE FUNCTION check_sale() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF (SELECT count(*) FROM sale) >= 100 THEN RAISE EXCEPTION 'sold out'; END IF; RETURN NEW; END $$;
// schema: CREATE TRIGGER check_sale BEFORE INSERT ON sale FOR EACH ROW EXECUTE FUNCTION check_sale();
// expect: unchanged
// keeps: lost update, others from writing `sale`
#include "shop.h"

int sell(struct db *db)
{
    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'a')"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
