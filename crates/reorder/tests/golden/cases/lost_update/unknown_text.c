// The program runs a text that is not known: it may write what the second query reads.
// server: postgresql
// expect: unchanged
// keeps: lost update, others from writing `sale`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db, const char *more)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT count(*) FROM sale"))
        goto fail;
    if (db_run(db, "INSERT INTO log VALUES ($1)", text))
        goto fail;
    if (db_run(db, more))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
