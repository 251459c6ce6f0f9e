// The field of the caller's structure may refer to the string that the query before it reads.
// expect: unchanged
// keeps: write after read, it writes
#include <string>

#include "shop.h"

struct Names {
    std::string &first;
};

void pay(struct db *db, Names names, const std::string &name)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", name.c_str());
    names.first = "y";
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", name.c_str());
    db_commit(db);
}
