// The string changes behind the definition of the reference, and the query runs the new text.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <string>

#include "shop.h"

void pay(db *connection)
{
    std::string text = "UPDATE item SET i_stock = 1";
    const std::string &sql = text;

    db_begin(connection);
    db_run(connection, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    text = "UPDATE region SET r_total = 2";
    db_run(connection, sql.c_str());
    db_run(connection, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(connection);
}
