// The view shows the text that is changed.
// expect: unchanged
#include <string>
#include <string_view>

#include "shop.h"

void pay(db *db)
{
    std::string name = "a";
    std::string_view view = name;

    db_begin(db);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", view.data());
    name += "b";
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", name.c_str());
    db_commit(db);
}
