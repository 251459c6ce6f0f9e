// The function that runs the text of its caller writes it in the same statement.
// function: pay
// expect: unchanged
// keeps: barrier
#include <string.h>

#include "shop.h"

static int run(struct db *db, char *sql)
{
    return db_run((strcpy(sql, "UPDATE region SET r_total = 1"), db), sql);
}

void pay(struct db *db)
{
    char text[80];

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    strcpy(text, "UPDATE item SET i_stock = 1");
    run(db, text);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
