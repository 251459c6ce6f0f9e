// The call writes all names, though its pointer leads to the first one.
// expect: unchanged
// keeps: write after read, it writes `names`
#include <string.h>

#include "shop.h"

void pay(struct db *db)
{
    char names[2][8] = {"a", "b"};

    db_begin(db);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", names[1]);
    memset(names[0], 0, sizeof names);
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", names[1]);
    db_commit(db);
}
