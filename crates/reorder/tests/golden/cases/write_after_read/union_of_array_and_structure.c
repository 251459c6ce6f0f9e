// The element is at the place of the field.
// expect: unchanged
#include "shop.h"

struct part {
    long n, m;
};

union both {
    struct part part;
    int words[4];
};

void pay(struct db *db)
{
    union both u = {{0}};

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", u.part.m);
    u.words[2] = 5;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", u.words[2]);
    db_commit(db);
}
