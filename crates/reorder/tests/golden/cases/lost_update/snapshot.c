// The read of another table takes the snapshot of the read that counts.
// server: mysql
// expect: unchanged
// keeps: lost update, others from writing `sale`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db)
{
    char name[32], text[32];

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (db_text(db, name, "SELECT c_name FROM customer WHERE c_id = 2"))
        goto fail;
    if (db_text(db, text, "SELECT max(x_amount) + 1 FROM sale"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, ?, NULL)", atoi(text)))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
