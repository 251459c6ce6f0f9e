// The trigger fills the stored view from the region.
// schema: CREATE MATERIALIZED VIEW totals AS SELECT sum(r_total) AS n FROM region;
// schema: CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN REFRESH MATERIALIZED VIEW totals; RETURN NULL; END $$;
// schema: CREATE TRIGGER fills AFTER UPDATE ON customer EXECUTE FUNCTION fill();
// expect: unchanged
// keeps: trigger, `customer`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
