// The helper returns the same for a query that has failed and for one that has changed rows: what a
// structure keeps of its result shows no failure.
// server: mysql
// function: pay
// expect: unchanged
// keeps: exit, a query without a check
#include "shop.h"

struct session {
    int status;
};

static int step(struct db *db, const char *sql)
{
    int rows = db_rows(db, sql);

    if (rows == 0)
        return -1;
    return 0;
}

int pay(struct db *db)
{
    struct session session = { 0 };

    db_begin(db);
    if ((session.status = step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) != 0)
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')"))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
