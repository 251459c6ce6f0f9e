// The function only reads sales. The update of the region moves up to it.
// server: postgresql
// schema: CREATE FUNCTION count_sales() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM sale $$;
// expect: moves
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT count(*) FROM sale"))
        goto fail;
    if (db_run(db, "INSERT INTO log VALUES ($1)", text))
        goto fail;
    if (db_text(db, text, "SELECT count_sales()"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
