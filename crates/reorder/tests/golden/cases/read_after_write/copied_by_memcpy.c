// memcpy copies the address.
// expect: unchanged
#include <string.h>

#include "shop.h"

struct target {
    long *place;
};

void visit(struct db *db)
{
    long region = 0;
    struct target target = {&region}, copy;

    memcpy(&copy, &target, sizeof copy);
    db_begin(db);
    *copy.place = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region);
    db_commit(db);
}
