// The method rolls back if a query fails, and its caller returns then.
// function: Shop::pay
// server: sqlite
// expect: moves
#include "shop.h"

class Shop {
public:
    explicit Shop(db *connection) : db_(connection) {}
    int pay();

private:
    int run(const char *sql);

    db *db_;
};

int Shop::run(const char *sql)
{
    if (db_run(db_, sql)) {
        db_rollback(db_);
        return -1;
    }
    return 0;
}

int Shop::pay()
{
    db_begin(db_);
    if (run("UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2") != 0)
        return -1;
    if (run("UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") < 0)
        return -1;
    db_commit(db_);
    return 0;
}
