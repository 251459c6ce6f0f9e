// A rule of the last insert inserts the rows that the second query counts.
// server: postgresql
// schema: CREATE RULE copy AS ON INSERT TO sale DO ALSO INSERT INTO log VALUES (NEW.x_note);
// expect: unchanged
// keeps: lost update, others from writing `log`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, text, "SELECT count(*) FROM log"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, $1, 'a')", atoi(text)))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
