// The operands of `sizeof` are not evaluated: their lengths are constants.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    char names[8][9];
    long count;

    db_begin(db);
    count = sizeof(char[3]) + sizeof(names) / sizeof(names[0]);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", count);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", (long)sizeof names[1]);
    db_commit(db);
}
