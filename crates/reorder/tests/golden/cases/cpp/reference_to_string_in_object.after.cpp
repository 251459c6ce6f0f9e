// The field of the object refers to no number.
// function: Payment::pay
// expect: moves
#include <string>

#include "shop.h"

class Payment {
public:
    explicit Payment(std::string &name) : name_(name) {}
    void pay(struct db *db, long amount);

private:
    std::string &name_;
};

void Payment::pay(struct db *db, long amount)
{
    db_begin(db);
    name_ += "y";
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", name_.c_str());
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", amount);
    db_commit(db);
}
