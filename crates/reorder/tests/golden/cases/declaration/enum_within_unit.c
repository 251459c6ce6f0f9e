// LIMIT is declared between the text of the region's update and the update itself: if they move,
// the declaration must not move behind the customer's update.
// expect: unchanged
#include <stdio.h>

#include "shop.h"

void visit(struct db *db, int amount)
{
    char text[32];

    db_begin(db);
    snprintf(text, sizeof text, "%d", amount);
    enum { LIMIT = 5 };
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", text);
    db_run(db, "UPDATE customer SET c_visits = c_visits + $1 WHERE c_id = 2", LIMIT);
    db_commit(db);
}
