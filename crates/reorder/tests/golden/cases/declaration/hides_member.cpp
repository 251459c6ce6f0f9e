// Behind the declaration `id` is the local variable, before it the member.
// function: Shop::pay
// expect: unchanged
#include "shop.h"

class Shop {
public:
    void pay(db *db);

private:
    long id = 0;
};

void Shop::pay(db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", id);
    long id = 2;
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", id);
    db_commit(db);
}
