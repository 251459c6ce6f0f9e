// The same with a number that is set before each query.
// expect: unchanged
// keeps: exit, the first to report
#include "shop.h"

int pay(struct db *db)
{
    int step;

    db_begin(db);
    db_run(db, "INSERT INTO sale VALUES (1, 2)");
    step = 1;
    if (db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1"))
        goto undo;
    step = 2;
    if (db_run(db, "INSERT INTO log VALUES ('paid')"))
        goto undo;
    db_commit(db);
    return 0;
undo:
    db_rollback(db);
    return -step;
}
