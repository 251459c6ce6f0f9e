// The query writes its result where its text was: that is behind the run. The helper does the same.
// function: pay
// expect: moves
#include <string.h>

#include "shop.h"

static int name_of(struct db *db, const char *sql, char *name)
{
    return db_text(db, name, sql);
}

int pay(struct db *db, char *name)
{
    char text[80];
    char *sql;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    strcpy(text, "SELECT i_name FROM item WHERE i_id = 3");
    sql = text;
    if (db_text(db, text, sql))
        goto fail;
    if (name_of(db, "SELECT c_name FROM customer WHERE c_id = 2", name))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return 1;
}
