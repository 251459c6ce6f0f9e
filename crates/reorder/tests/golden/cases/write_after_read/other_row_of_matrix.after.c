// The pointer leads to a row of its own, of which it changes the first element.
// expect: moves
#include <string.h>

#include "shop.h"

void pay(struct db *db)
{
    char names[2][8] = {"a", "b"};
    char *first = names[0];

    db_begin(db);
    first[0] = 'c';
    strcpy(names[0], "e");
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", names[0]);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", names[1]);
    db_commit(db);
}
