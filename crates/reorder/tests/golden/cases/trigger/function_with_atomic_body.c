// The body stands in no quotes.
// schema: CREATE FUNCTION used() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT 1; SELECT sum(r_total) FROM region; END;
// expect: unchanged
// keeps: function, `used`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = used() WHERE c_id = 3");
    db_commit(db);
}
