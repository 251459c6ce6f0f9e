// Two writes of different rows may change places: the table has no other key.
// objective: position
// splits: yes
// distinct: id
// expect: moves
#include <stdio.h>
#include "shop.h"

void order(struct db *db, const int *id, int count)
{
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        db_format(db, "INSERT INTO item (i_id, i_shop, i_name, i_price, i_stock) VALUES (%d, 1, 'a', 1, 1)",
                  id[i]);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    for (int i = 0; i < count; i++) {
        db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
        db_format(db, "UPDATE item SET i_stock = 2 WHERE i_id = %d", id[i]);
    }
    db_commit(db);
}
