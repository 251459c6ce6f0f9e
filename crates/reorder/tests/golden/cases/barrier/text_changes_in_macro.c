// A macro formats into the memory that the text shares, and runs the text, in one expression.
// expect: unchanged
// keeps: barrier
#include <stdio.h>

#include "shop.h"

#define RUN(db, table) (sprintf(text, "UPDATE %s SET r_total = 2", table), db_run(db, sql))

void pay(struct db *db)
{
    char text[80], *sql;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    sprintf(text, "UPDATE item SET i_stock = 1");
    sql = text;
    RUN(db, "region");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
