// All queries go through a method that a class may override.
// expect: refused, `Shop::run` (line 7) is virtual and may be overridden: give it a model
#include "shop.h"

class Shop {
public:
    virtual int run(const char *sql) { return db_run(to_, sql); }

private:
    db *to_;
};

int pay(Shop &shop)
{
    shop.run("BEGIN");
    shop.run("UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    shop.run("UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    return shop.run("COMMIT");
}
