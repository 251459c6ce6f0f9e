// The line is written to the file whether or not the queries commit; there is no exit.
// expect: moves
#include <stdio.h>

#include "shop.h"

void pay(struct db *db, FILE *file)
{
    long balance;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    balance = db_number(db, "SELECT c_balance FROM customer WHERE c_id = 2");
    fprintf(file, "%ld\n", balance);
    db_commit(db);
}
