// The same with a type.
// expect: unchanged
#include <stdio.h>

#include "shop.h"

void visit(struct db *db, long amount)
{
    char text[32];

    db_begin(db);
    snprintf(text, sizeof text, "%ld", amount);
    typedef int count;
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", text);
    db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = 2", (count)amount);
    db_commit(db);
}
