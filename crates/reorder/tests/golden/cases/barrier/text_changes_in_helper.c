// The helper writes memory that the text shares.
// function: pay
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <string.h>

#include "shop.h"

static const char *table(char *text)
{
    text[7] = 'r';
    return "";
}

void pay(struct db *db)
{
    char text[80];
    char *sql;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    strcpy(text, "UPDATE item SET i_stock = 1");
    sql = text;
    db_run(db, sql, table(text));
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
