// The code behind the exit frees the memory that is allocated for the region's update.
// expect: moves
#include <stdlib.h>
#include <string.h>

#include "shop.h"

int pay(struct db *db, const char *name)
{
    char *copy = NULL;

    db_begin(db);
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        goto fail;
    copy = strdup(name);
    if (db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", copy))
        goto fail;
    db_commit(db);
    free(copy);
    return 0;
fail:
    db_rollback(db);
    free(copy);
    return -1;
}
