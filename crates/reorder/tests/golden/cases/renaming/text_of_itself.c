// `snprintf` writes a buffer that its arguments read.
// isolation: serializable
// renames: yes
// expect: moves
#include <stdio.h>
#include <stdlib.h>

#include "shop.h"

void pay(struct db *db, int n)
{
    char text[16];

    db_begin(db);
    snprintf(text, sizeof text, "%d", n);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", text);
    snprintf(text, sizeof text, "%d", atoi(text) + 1);
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", text);
    db_commit(db);
}
