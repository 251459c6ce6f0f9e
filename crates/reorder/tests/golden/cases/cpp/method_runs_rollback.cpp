// The method runs the text of its caller, which rolls back, and control goes on.
// function: Shop::pay
// server: sqlite
// expect: unchanged
// keeps: barrier, it rolls back, and the transaction goes on
#include <string>

#include "shop.h"

class Shop {
public:
    explicit Shop(db *connection) : db_(connection) {}
    int pay(int amount);

private:
    int run(const std::string &sql);

    db *db_;
};

int Shop::run(const std::string &sql)
{
    return db_run(db_, sql.c_str()) ? -1 : 0;
}

int Shop::pay(int amount)
{
    run("BEGIN");
    if (amount > 5)
        run("ROLLBACK");
    if (run("UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") < 0)
        goto fail;
    if (run("UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2") < 0)
        goto fail;
    run("COMMIT");
    return 0;
fail:
    run("ROLLBACK");
    return 1;
}
