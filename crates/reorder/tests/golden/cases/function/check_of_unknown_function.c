// schema: CREATE TABLE quota (q_id INTEGER PRIMARY KEY, q_used INTEGER);
// schema: ALTER TABLE ONLY quota ADD CONSTRAINT fits CHECK ((public.fits(q_used) > 0));
// expect: unchanged
// keeps: function, `public.fits`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "INSERT INTO quota VALUES (1, 2)");
    db_commit(db);
}
