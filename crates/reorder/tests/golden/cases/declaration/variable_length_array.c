// The block is one unit.
// expect: unchanged
#include <stdio.h>

#include "shop.h"

int visit(struct db *db, int length)
{
    int result = 0;

    db_begin(db);
    {
        db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
        char name[length];
        snprintf(name, sizeof name, "%d", length);
        if (db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", name))
            result = 1;
    }
    db_commit(db);
    return result;
}
