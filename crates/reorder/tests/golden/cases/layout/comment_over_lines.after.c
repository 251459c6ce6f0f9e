// The comment that begins behind the first update ends on the next line, before the second.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
 /* a comment
                                                    of two lines */
    db_run(db, "UPDATE customer SET c_visits = 1");
    db_run(db, "UPDATE region SET r_total = 1"); /* another
    */ db_commit(db);
}
