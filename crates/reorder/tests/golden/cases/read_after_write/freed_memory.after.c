// The memory is freed behind the customer's update, which uses it.
// expect: moves
#include <stdlib.h>
#include <string.h>

#include "shop.h"

void visit(struct db *db, const char *name)
{
    char *copy = strdup(name);

    db_begin(db);
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", copy);
    free(copy);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
