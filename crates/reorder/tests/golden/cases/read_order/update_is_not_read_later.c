// The last query reads another column than the update writes: the update moves behind both.
// expect: moves
#include "shop.h"

long count(struct db *db)
{
    long name, total;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    name = db_number(db, "SELECT s_count FROM shop WHERE s_id = 1");
    total = db_number(db, "SELECT r_count FROM region WHERE r_id = 1");
    db_commit(db);
    return name + total;
}
