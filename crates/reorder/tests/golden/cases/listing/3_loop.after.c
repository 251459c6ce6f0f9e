// Listing 3 of the paper: the tool splits the loop. The paper's Listing 4 has three loops; the third
// split brings nothing, since the customer's read and write stay together. The loop of the region,
// which is the most contended, goes last.
// isolation: serializable
// splits: yes
// expect: moves
#include "shop.h"

void loop(struct db *db, int n)
{
    long var1, var2[100];

    db_begin(db);
    for (int i = 0; i < n; i++) {
        var2[i] = db_number(db, "SELECT c_balance FROM customer WHERE c_id = $1", i);
        db_run(db, "UPDATE customer SET c_balance = $1 WHERE c_id = $2", var2[i] + 1, i);
    }
    for (int i = 0; i < n; i++) {
        var1 = db_number(db, "SELECT r_total FROM region WHERE r_id = $1", i);
        db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = $2", var1 + 1, i);
    }
    db_commit(db);
}
