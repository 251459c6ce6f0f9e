// The region's update uses the memory, which is freed before the customer's.
// expect: moves
#include <stdlib.h>
#include <string.h>

#include "shop.h"

void visit(struct db *db, const char *name)
{
    char *copy = strdup(name);

    db_begin(db);
    db_run(db, "UPDATE customer SET c_name = 'x' WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", copy);
    free(copy);
    db_commit(db);
}
