// The helper writes the row behind the one that it gets.
// function: pay
// expect: unchanged
#include <string.h>

#include "shop.h"

static void put(char (*row)[16])
{
    strcpy(row[1], "1");
}

void pay(struct db *db)
{
    char a[3][16] = {{0}};

    db_begin(db);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", a[2]);
    put(&a[1]);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", a[2]);
    db_commit(db);
}
