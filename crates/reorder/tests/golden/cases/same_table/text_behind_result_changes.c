// `strcpy` returns its buffer, which is written again before the pointer to it is used.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <string.h>

#include "shop.h"

void pay(struct db *db)
{
    char sql[200];
    char *text;

    db_begin(db);
    text = strcpy(sql, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    strcpy(sql, "UPDATE region SET r_total = r_total * 2 WHERE r_id = 1");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, text);
    db_commit(db);
}
