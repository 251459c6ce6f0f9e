// The initializers of the fields that the list leaves out are constants.
// function: pay
// expect: moves
#include "shop.h"

struct Line {
    db *to;
    int number = -1;
    const char *name = "line";
};

void pay(db *db)
{
    db_begin(db);
    Line line{db};
    (void)line;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
