// If the first insert fails, the query behind it reports it, and all do so in the same way.
// expect: moves
#include "shop.h"

static int undo(struct db *db, int status)
{
    db_rollback(db);
    return status;
}

int pay(struct db *db)
{
    int status = -1;

    db_begin(db);
    db_run(db, "INSERT INTO sale VALUES (1, 2)");
    if (db_run(db, "INSERT INTO log VALUES ('paid')"))
        return undo(db, status);
    if (db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1"))
        return undo(db, status);
    db_commit(db);
    return 0;
}

int pay_with_label(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO sale VALUES (1, 2)");
    if (db_run(db, "INSERT INTO log VALUES ('paid')"))
        goto undo;
    if (db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1"))
        goto undo;
    db_commit(db);
    return 0;
undo:
    db_rollback(db);
    return -1;
}
