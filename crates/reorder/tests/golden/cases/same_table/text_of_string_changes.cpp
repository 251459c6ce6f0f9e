// The string is given another text behind the call that returned its characters.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <string>

extern "C" {
#include "shop.h"
}

void pay(struct db *db)
{
    std::string sql = "UPDATE customer SET c_visits = 1 WHERE c_id = 2";
    const char *text = sql.c_str();

    db_begin(db);
    sql = "UPDATE region SET r_total = r_total * 2 WHERE r_id=1";
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, text);
    db_commit(db);
}
