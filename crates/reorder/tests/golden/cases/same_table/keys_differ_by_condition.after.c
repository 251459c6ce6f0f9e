// The constants differ only in one of the two parts of the key.
// schema: CREATE TABLE stock (k_shop INTEGER, k_item INTEGER, k_count INTEGER, PRIMARY KEY (k_shop, k_item));
// expect: moves
#include "shop.h"

long take(struct db *db, int item)
{
    long count;

    db_begin(db);
    count = db_number(db, "SELECT k_count FROM stock WHERE k_shop = 2 AND k_item = $1", item);
    db_run(db, "UPDATE stock SET k_count = k_count - 1 WHERE k_shop = 1 AND k_item = $1", item);
    db_commit(db);
    return count;
}
