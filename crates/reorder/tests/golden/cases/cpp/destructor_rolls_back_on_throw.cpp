// function: pay
// expect: unchanged
// keeps: barrier, `throw`
#include "shop.h"

class Transaction {
public:
    explicit Transaction(db *db) : db_(db) { db_begin(db_); }
    ~Transaction()
    {
        if (!done_)
            db_rollback(db_);
    }
    void commit()
    {
        db_commit(db_);
        done_ = true;
    }

private:
    db *db_;
    bool done_ = false;
};

void pay(db *db, int amount)
{
    Transaction transaction(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (amount < 0)
        throw amount;
    db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    transaction.commit();
}
