// The query runs the text that `strcat` returns, with the table that it appends.
// expect: unchanged
// keeps: same table
#include <string.h>

#include "shop.h"

void pay(struct db *db)
{
    char sql[200];

    db_begin(db);
    strcpy(sql, "UPDATE customer SET c_visits = 1");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, strcat(sql, " WHERE c_id = (SELECT max(r_total) FROM region)"));
    db_commit(db);
}
