// Each query has its own value in the buffer: the text moves with the query.
// expect: moves
#include <stdio.h>

#include "shop.h"

void pay(struct db *db, int amount)
{
    char text[32];

    db_begin(db);
    snprintf(text, sizeof text, "%d", amount);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", text);
    snprintf(text, sizeof text, "%d", amount - 5);
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", text);
    db_commit(db);
}
