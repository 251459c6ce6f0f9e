// The statement itself writes the memory behind a field.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <string.h>

#include "shop.h"

struct query {
    const char *sql;
};

void pay(struct db *db)
{
    struct query query;
    char text[80];

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    strcpy(text, "UPDATE item SET i_stock = 1");
    query.sql = text;
    db_run((strcpy(text, "UPDATE region SET r_total = 2"), db), query.sql);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
