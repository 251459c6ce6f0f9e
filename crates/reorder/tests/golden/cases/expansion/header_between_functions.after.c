// The header of `memcpy` is included before both functions, not behind the last header.
// objective: position
// splits: yes
// expect: moves
#include "shop.h"
#include <string.h>
int one(struct db *db, const long *items, long region, long customer)
{
    char name[32] = "";
    long sum = 0;

    db_begin(db);
    char name_at[15][32];
    for (int i = 0; i < 15; i++) {
        db_text(db, name, "SELECT i_name FROM item WHERE i_id = $1", items[i]);
        sum += name[0];
        memcpy(name_at[i], name, sizeof name);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    for (int i = 0; i < 15; i++) {
        memcpy(name, name_at[i], sizeof name);
        db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = $2", name, region);
    }
    db_commit(db);
    return 0;
}
#include <stdio.h>
int two(struct db *db, const long *items, long region, long customer)
{
    char name[32] = "";
    long sum = 0;

    db_begin(db);
    char name_at[15][32];
    for (int i = 0; i < 15; i++) {
        db_text(db, name, "SELECT i_name FROM item WHERE i_id = $1", items[i]);
        sum += name[0];
        memcpy(name_at[i], name, sizeof name);
    }
    db_run(db, "UPDATE customer SET c_balance = c_balance - $1 WHERE c_id = $2", sum, customer);
    for (int i = 0; i < 15; i++) {
        memcpy(name, name_at[i], sizeof name);
        db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = $2", name, region);
    }
    db_commit(db);
    return 0;
}
