// A statement does not move across a directive of the preprocessor.
// expect: unchanged
// keeps: barrier, a preprocessor directive stands there
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
#ifdef VISITS
    db_run(db, "UPDATE shop SET s_count = s_count + 1 WHERE s_id = 2");
#endif
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
