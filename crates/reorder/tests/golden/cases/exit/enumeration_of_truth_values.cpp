// An enumeration whose underlying type is `bool` keeps 1 where 2 is cast to it, so that the helper
// returns 0 for a query that failed.
// server: mysql
// function: pay
// expect: unchanged
// keeps: exit, a query without a check
#include "shop.h"

enum class Outcome : bool { fine, broken };

static int step(struct db *db, const char *sql)
{
    Outcome outcome = Outcome::fine;
    if (db_run(db, sql) != 0)
        outcome = static_cast<Outcome>(2);
    if (static_cast<int>(outcome) == 2)
        return -1;
    return 0;
}

int pay(struct db *db)
{
    db_begin(db);
    if (step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != 0) {
        db_rollback(db);
        return -1;
    }
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')") != 0) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
