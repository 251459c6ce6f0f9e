// The caller's pointer may lead anywhere, also to what the second query reads.
// relaxed reads: yes
// expect: unchanged
#include <stddef.h>

#include "shop.h"

int pay(struct db *db, struct rows **rows, const long *number)
{
    db_begin(db);
    if (db_rows_of(db, rows, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1 "
                             "RETURNING r_total"))
        goto fail;
    rows_free(*rows);
    if (db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", *number))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
