// The key of the shop changes; the customer's reference does not.
// expect: moves
#include "shop.h"

void renumber(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_id = 7 WHERE s_id = 1");
    db_run(db, "UPDATE customer SET c_name = 'new' WHERE c_id = 2");
    db_commit(db);
}
