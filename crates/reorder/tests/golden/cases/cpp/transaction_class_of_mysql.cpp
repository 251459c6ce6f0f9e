// The destructor may commit on MySQL, where a failed query leaves the transaction open: what it
// does is not seen at the exits.
// function: pay
// server: mysql
// expect: unchanged
// keeps: barrier, it leaves without a rollback, and what the destructor of `transaction`, a
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

int pay(db *db)
{
    Transaction transaction(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        return -1;
    if (db_run(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"))
        return -1;
    transaction.commit();
    return 0;
}
