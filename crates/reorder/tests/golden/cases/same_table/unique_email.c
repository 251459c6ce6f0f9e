// The insert takes the email that the delete sets free.
// expect: unchanged
// keeps: same table, both use the table `customer`
#include "shop.h"

void replace(struct db *db)
{
    db_begin(db);
    db_run(db, "DELETE FROM customer WHERE c_email = 'a@b'");
    db_run(db, "INSERT INTO customer VALUES (9, 1, 'new', 'a@b', 0, 0)");
    db_commit(db);
}
