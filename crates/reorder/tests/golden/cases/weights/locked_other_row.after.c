// The update locks another row than the query before it.
// server: mysql
// expect: moves
#include <stdio.h>
#include "shop.h"

int pay(struct db *db, int who, int other)
{
    char q[100];
    long balance = 0;

    db_begin(db);
    sprintf(q, "SELECT c_balance FROM customer WHERE c_id = %d FOR UPDATE", who);
    balance = db_number(db, q);
    if (db_format(db, "INSERT INTO sale VALUES (1, %d, %ld, 'x')", other, balance))
        goto fail;
    if (db_format(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = %d", other))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
