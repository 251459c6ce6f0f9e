// The list leaves out a field whose initializer changes the region.
// function: pay
// expect: unchanged
// keeps: barrier, the field `number`
#include "shop.h"

static db *home;

static int next_number()
{
    return db_run(home, "UPDATE region SET r_total = r_total * 10 WHERE r_id = 1");
}

void connect(db *db)
{
    home = db;
}

struct Line {
    db *to;
    int number = next_number();
};

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    Line line{db};
    (void)line;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
