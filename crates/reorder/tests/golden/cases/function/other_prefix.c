// The schema defines a function of that name, but of another prefix.
// schema: CREATE FUNCTION tax.rate(n integer) RETURNS integer LANGUAGE sql AS $$ SELECT n * 2 $$;
// expect: unchanged
// keeps: function, `old.rate`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = old.rate(3) WHERE c_id = 2");
    db_commit(db);
}
