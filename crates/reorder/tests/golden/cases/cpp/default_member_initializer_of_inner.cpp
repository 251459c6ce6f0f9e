// The list leaves out a structure with such a field.
// function: pay
// expect: unchanged
// keeps: barrier, leaves out elements
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
struct Order {
    db *to;
    Line lines[2];
};

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    Order order{db, {}};
    (void)order;
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
