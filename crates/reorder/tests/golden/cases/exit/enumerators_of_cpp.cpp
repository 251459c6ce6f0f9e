// A scoped enumeration of C++ as the status.
// function: pay
// expect: moves
#include "shop.h"

enum class Status : unsigned char { done, failed };

static Status step(struct db *db, const char *sql)
{
    return db_run(db, sql) == 0 ? Status::done : Status::failed;
}

int pay(struct db *db)
{
    db_begin(db);
    if (step(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != Status::done) {
        db_rollback(db);
        return -1;
    }
    Status status = step(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')");
    if (status == Status::failed) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
