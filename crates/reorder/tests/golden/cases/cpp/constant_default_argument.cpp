// The default arguments are constants.
// function: pay
// expect: moves
#include "shop.h"
#include <string>

static int book(db *db, int number = -1, const std::string &name = "line")
{
    (void)db;
    (void)name;
    return number;
}

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    book(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
