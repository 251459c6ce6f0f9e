// The region's number is kept in the object and read by the second query.
// function: Shop::pay
// expect: unchanged
// keeps: read after write
#include "shop.h"

class Shop {
public:
    void pay(db *db);

private:
    long region_ = 0;
};

void Shop::pay(db *db)
{
    db_begin(db);
    region_ = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", region_);
    db_commit(db);
}
