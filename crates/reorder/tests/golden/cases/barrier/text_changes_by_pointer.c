// The statement itself changes the text before its query: the update of the item becomes one of the
// region.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <stdio.h>
#include <string.h>

#include "shop.h"

void pay(struct db *db)
{
    char text[80];
    const char *sql;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    sprintf(text, "UPDATE %s SET i_stock = 1", "item");
    sql = text;
    db_run((strcpy(text, "UPDATE region SET r_total = 2"), db), sql);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
