// SQLite reads a name in double quotes that it does not know as a text.
// server: sqlite
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_name = \"nobody\" WHERE c_id = 2");
    db_commit(db);
}
