// The type has one value for both numbers.
// schema: CREATE TABLE size (z_size REAL PRIMARY KEY, z_count INTEGER);
// expect: unchanged
// keeps: same table, `size`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE size SET z_count = z_count + 1 WHERE z_size = 16777216");
    total = db_number(db, "SELECT z_count FROM size WHERE z_size = 16777217");
    db_commit(db);
    return total;
}
