// The bytes may be those of the structure.
// expect: unchanged
// keeps: read after write
#include "shop.h"

struct store {
    long total;
};

void visit(struct db *db, struct store *store, const unsigned char *bytes)
{
    db_begin(db);
    store->total = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", (long)bytes[0]);
    db_commit(db);
}
