// A second pointer keeps the rows of the region, and the last query uses them.
// relaxed reads: yes
// expect: unchanged
// keeps: read after write
#include <stddef.h>

#include "shop.h"

int pay(struct db *db)
{
    struct rows *rows = NULL, *kept = NULL;

    db_begin(db);
    if (db_rows_of(db, &rows, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1 "
                              "RETURNING r_total"))
        goto fail;
    kept = rows;
    if (db_rows_of(db, &rows, "UPDATE customer SET c_visits = $1 WHERE c_id = 2 RETURNING c_id",
                   rows_number(kept, 0, 0)))
        goto fail;
    rows_free(rows);
    rows_free(kept);
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
