// If the first insert fails, the update reports it: the exits of the two queries behind it return
// different numbers.
// expect: unchanged
// keeps: exit, the first to report
#include "shop.h"

int pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO sale VALUES (1, 2)");
    if (db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1")) {
        db_rollback(db);
        return -4;
    }
    if (db_run(db, "INSERT INTO log VALUES ('paid')")) {
        db_rollback(db);
        return -5;
    }
    db_commit(db);
    return 0;
}
