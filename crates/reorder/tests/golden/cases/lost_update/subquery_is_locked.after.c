// PostgreSQL also locks what the queries in the `FROM` read.
// server: postgresql
// expect: moves
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_text(db, text, "SELECT i.i_stock FROM (SELECT i_stock FROM item WHERE i_id = "
            "5) i FOR UPDATE"))
        goto fail;
    if (db_run(db, "INSERT INTO item VALUES (6, 2, 'a', 3, $1)", atoi(text)))
        goto fail;
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
