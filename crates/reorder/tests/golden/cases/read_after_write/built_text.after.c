// The SQL is put together from several texts.
// expect: moves
#include <stdio.h>
#include <string.h>

#include "shop.h"

#define SET_TOTAL "SET r_total = r_total + "

void visit(struct db *db, int amount, int flag)
{
    char sql[100];
    const char *where = flag ? " WHERE r_id = 1" : " WHERE r_id = 2";

    db_begin(db);
    db_format(db, "UPDATE customer SET c_visits = %d WHERE c_id = 2", amount);
    strcpy(sql, "UPDATE region " SET_TOTAL "1");
    strcat(sql, where);
    db_run(db, sql);
    db_commit(db);
}
