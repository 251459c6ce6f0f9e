// The arguments of a call may be evaluated in any order: that of the query, or that which writes
// its text, comes first.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <string.h>

#include "shop.h"

static int all(int first, const char *second)
{
    return first != 0 || second == 0;
}

void pay(struct db *db)
{
    char text[80], *sql;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    strcpy(text, "UPDATE item SET i_stock = 1");
    sql = text;
    all(db_run(db, sql), strcpy(text, "UPDATE region SET r_total = 2"));
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
