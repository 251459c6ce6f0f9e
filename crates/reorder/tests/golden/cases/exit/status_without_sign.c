// The status is kept in a variable whose values are not followed.
// server: mysql
// function: pay
// expect: moves
#include "shop.h"

static unsigned char step(struct db *db, const char *sql)
{
    unsigned char status = db_run(db, sql) != 0;

    return status;
}

static int checked(struct db *db, const char *sql)
{
    unsigned char status = step(db, sql);

    if (status)
        return -1;
    return 0;
}

int pay(struct db *db)
{
    db_begin(db);
    if (checked(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != 0)
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
