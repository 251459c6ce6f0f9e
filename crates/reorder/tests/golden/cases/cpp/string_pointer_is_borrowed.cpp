// `text` leads into the string, which changes behind the first update.
// expect: unchanged
#include <string>

#include "shop.h"

void pay(db *db)
{
    std::string name = "a";
    const char *text = name.c_str();

    db_begin(db);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", text);
    name[0] = 'b';
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", text);
    db_commit(db);
}
