// The paper's first special case: an object keeps its name.
// isolation: serializable
// renames: yes
// expect: unchanged
// not renamed: it is an object
#include <string>

#include "shop.h"

void pay(struct db *db, int n)
{
    std::string name;

    db_begin(db);
    name = std::to_string(n);
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 1", name.c_str());
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", name.c_str());
    name = std::to_string(n + 1);
    db_run(db, "UPDATE customer SET c_email = $1 WHERE c_id = 2", name.c_str());
    db_commit(db);
}
