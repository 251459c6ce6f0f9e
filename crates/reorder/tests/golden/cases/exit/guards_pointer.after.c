// expect: moves
// keeps: exit, it leaves the transaction depending on `id`
#include <stddef.h>

#include "shop.h"

int visit(struct db *db, const long *id)
{
    db_begin(db);
    if (id == NULL)
        goto fail;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = $1", *id);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
