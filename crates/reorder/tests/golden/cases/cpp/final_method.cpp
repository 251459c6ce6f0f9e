// No class overrides the method.
// function: pay
// expect: moves
#include "shop.h"

class Notifier {
public:
    virtual int notify(db *db, int customer) final
    {
        (void)db;
        (void)customer;
        return 0;
    }
};

void pay(db *db, Notifier &notifier)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    notifier.notify(db, 2);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
