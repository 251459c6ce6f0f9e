// The comments above a statement and behind it on its line move with it.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);

    /* The region is the
     * most contended. */
    db_run(db, "UPDATE region SET r_total = 1"); /* heavy */

    // The customer.
    db_run(db, "UPDATE customer SET c_visits = 1"); // light

    // The end.
    db_commit(db);
}
