// The view shows another text than the one that is changed.
// expect: moves
#include <string>
#include <string_view>

#include "shop.h"

void pay(db *db)
{
    std::string name = "a", other = "a";
    std::string_view view = other;

    db_begin(db);
    name += "b";
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", name.c_str());
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", view.data());
    db_commit(db);
}
