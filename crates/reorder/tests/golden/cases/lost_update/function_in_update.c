// The function in the last update inserts the rows that the second query counts.
// server: postgresql
// schema: CREATE FUNCTION add_sale(n int) RETURNS int LANGUAGE sql AS $$ INSERT INTO sale VALUES (n, 2, 3, 'a') RETURNING 1 $$;
// expect: unchanged
// keeps: lost update, others from writing `sale`
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
    if (db_run(db, "UPDATE item SET i_stock = add_sale(5) WHERE i_id = 5"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
