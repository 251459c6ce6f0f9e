// schema: CREATE FUNCTION visible(n integer) RETURNS boolean LANGUAGE sql AS $$ SELECT n < max(r_total) FROM region $$;
// schema: CREATE POLICY seen ON customer USING (visible(c_id));
// schema: ALTER TABLE customer ENABLE ROW LEVEL SECURITY;
// expect: unchanged
// keeps: trigger, `customer`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
