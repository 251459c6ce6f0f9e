// The pointer leads to the bytes of `region`.
// expect: unchanged
// keeps: read after write
#include "shop.h"

void visit(struct db *db)
{
    long region = 0;
    const unsigned char *bytes = (const unsigned char *)&region;

    db_begin(db);
    region = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", bytes[0]);
    db_commit(db);
}
