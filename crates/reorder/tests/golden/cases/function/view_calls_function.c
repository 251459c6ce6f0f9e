// schema: CREATE FUNCTION share_of(n integer) RETURNS integer LANGUAGE sql AS $$ SELECT n + max(r_total) FROM region $$;
// schema: CREATE VIEW shares AS SELECT c_id, share_of(c_visits) AS n FROM customer;
// expect: unchanged
// keeps: function, `share_of`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE item SET i_stock = (SELECT n FROM shares WHERE c_id = 1) WHERE i_id = 2");
    db_commit(db);
}
