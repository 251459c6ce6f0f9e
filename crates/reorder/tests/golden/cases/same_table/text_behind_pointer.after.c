// The pointer leads to the text that was written before it was set.
// expect: moves
#include <string.h>

#include "shop.h"

void pay(struct db *db)
{
    char sql[200];
    char *text;

    db_begin(db);
    strcpy(sql, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    text = sql;
    db_run(db, text);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
