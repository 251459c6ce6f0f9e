// A text that is no number throws: the transaction is left without a rollback.
// expect: unchanged
// keeps: barrier
#include <string>

#include "shop.h"

void pay(db *db, const std::string &text)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    int n = std::stoi(text);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", n);
    db_commit(db);
}
