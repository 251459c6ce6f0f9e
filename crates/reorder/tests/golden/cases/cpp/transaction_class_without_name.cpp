// The constructor begins the transaction; only the user knows which function it is in.
// expect: refused, line 26: `pay` makes a `Transaction`, whose constructor and destructor the tool
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
