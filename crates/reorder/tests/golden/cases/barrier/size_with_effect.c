// The operand of `sizeof` is evaluated, since its length is not a constant.
// expect: unchanged
// keeps: barrier, the size of an array of variable length
#include "shop.h"

void pay(struct db *db, int visits)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", visits);
    (void)sizeof(char[visits++]);
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
