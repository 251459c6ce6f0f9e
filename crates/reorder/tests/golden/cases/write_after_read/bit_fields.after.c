// The fields share a byte but no bit.
// isolation: serializable
// expect: moves
#include "shop.h"

struct flags {
    unsigned region : 4, customer : 4;
};

unsigned pay(struct db *db)
{
    struct flags flags = {0, 0};

    db_begin(db);
    flags.customer = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2") & 15;
    flags.region = db_number(db, "SELECT r_total FROM region WHERE r_id = 1 FOR UPDATE") & 15;
    db_commit(db);
    return flags.region + flags.customer;
}
