// The object lives as long as the reference.
// function: pay
// expect: unchanged
// keeps: barrier, destructor runs where
#include "shop.h"

struct Journal {
    db *to;
    ~Journal() { db_run(to, "UPDATE region SET r_total = r_total * 10 WHERE r_id = 1"); }
    int ready() const { return 0; }
};

void pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    {
        const Journal &journal = Journal{db};
        (void)journal;
    }
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
