// `sizeof` mentions the variable and reads nothing of it: the declaration stays before it.
// expect: moves
// keeps: declaration, `name` is declared
#include <stdio.h>

#include "shop.h"

void visit(struct db *db, int amount)
{
    db_begin(db);
    char name[20];
    snprintf(name, sizeof name, "%d", amount);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", name);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", (int)sizeof name);
    db_commit(db);
}
