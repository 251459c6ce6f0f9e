// The table has no key, but its trigger locks the row of the region.
// server: postgresql
// schema: CREATE FUNCTION count_sale() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE region SET r_count = r_count + 1 WHERE r_id = 1; RETURN NULL; END $$;
// schema: CREATE TRIGGER count_sale AFTER INSERT ON sale FOR EACH ROW EXECUTE FUNCTION count_sale();
// expect: unchanged
// keeps: lost update, others from writing `log`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'a')"))
        goto fail;
    if (db_text(db, text, "SELECT count(*) FROM log"))
        goto fail;
    if (db_run(db, "INSERT INTO log VALUES ($1)", text))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
