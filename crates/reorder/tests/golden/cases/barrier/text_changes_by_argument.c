// An argument of the query writes the text by a pointer.
// expect: unchanged
// keeps: barrier, the memory with the SQL text may be written before the query
#include <stdio.h>
#include <string.h>

#include "shop.h"

void pay(struct db *db)
{
    char text[80];
    char *sql;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    strcpy(text, "UPDATE item SET i_stock = $1");
    sql = text;
    db_run(db, sql, sprintf(sql, "UPDATE region SET r_total = $1"));
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
