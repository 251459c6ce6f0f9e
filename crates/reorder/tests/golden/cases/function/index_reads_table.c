// schema: CREATE FUNCTION rank_of(n integer) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$ SELECT sum(r_total) FROM region $$;
// schema: CREATE INDEX ranks ON customer USING btree (rank_of(c_id));
// expect: unchanged
// keeps: function, `rank_of`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
