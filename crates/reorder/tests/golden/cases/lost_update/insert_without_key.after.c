// The insert of a row without a key waits for nobody.
// expect: moves
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_text(db, text, "SELECT max(x_amount) + 1 FROM sale"))
        goto fail;
    if (db_run(db, "INSERT INTO log VALUES ('begin')"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, $1, NULL)", atoi(text)))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
