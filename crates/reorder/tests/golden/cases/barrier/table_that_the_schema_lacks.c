// The schema does not define `mirror`, which may be a view of the region: nothing moves across it.
// expect: unchanged
// keeps: barrier, does not define `mirror`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_number(db, "SELECT m_total FROM mirror WHERE m_id = 1");
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    db_commit(db);
}
