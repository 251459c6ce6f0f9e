// A field leads to the buffer, which is written again before the field is used.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <string.h>

#include "shop.h"

struct query {
    const char *text;
};

void pay(struct db *db)
{
    struct query query;
    char sql[200];

    db_begin(db);
    strcpy(sql, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    query.text = sql;
    strcpy(sql, "UPDATE region SET r_total = r_total * 2 WHERE r_id = 1");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, query.text);
    db_commit(db);
}
