// The variable is checked.
// schema: CREATE FUNCTION open(n integer) RETURNS bigint LANGUAGE sql AS $$ SELECT sum(r_total) FROM region $$;
// schema: CREATE DOMAIN share AS integer CHECK (VALUE < open(VALUE));
// schema: CREATE FUNCTION clip(n integer) RETURNS integer LANGUAGE plpgsql AS $$ DECLARE v share := n; BEGIN RETURN v; END $$;
// expect: unchanged
// keeps: function, `clip`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = clip(3) WHERE c_id = 2");
    db_commit(db);
}
