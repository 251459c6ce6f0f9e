// `strtok` keeps its place in the text between the calls.
// expect: unchanged
// keeps: barrier, `strtok`
#include <string.h>

#include "shop.h"

void pay(struct db *db, char *names)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", strtok(names, ","));
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", strtok(NULL, ","));
    db_commit(db);
}
