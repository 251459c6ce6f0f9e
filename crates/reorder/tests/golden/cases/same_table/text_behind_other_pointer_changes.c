// The buffer is written through one pointer and run through another.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <string.h>

#include "shop.h"

void pay(struct db *db)
{
    char sql[200];
    char *text = sql;
    char *other = sql;

    db_begin(db);
    strcpy(other, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    strcpy(text, "UPDATE region SET r_total = r_total * 2 WHERE r_id = 1");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, other);
    db_commit(db);
}
