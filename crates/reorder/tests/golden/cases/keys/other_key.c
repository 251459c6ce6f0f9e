// Two writes of different rows keep their order: one could free the value of the other key,
// `c_email`, that the other takes.
// splits: yes
// distinct: id
// expect: unchanged
#include <stdio.h>
#include "shop.h"

void order(struct db *db, const int *id, int count)
{
    long sum = 0;

    db_begin(db);
    for (int i = 0; i < count; i++) {
        db_format(db, "UPDATE customer SET c_email = '%d@', c_name = 'a' WHERE c_id = %d", i, id[i]);
        db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
        db_format(db, "UPDATE customer SET c_email = 'b' WHERE c_id = %d", id[i]);
    }
    db_format(db, "UPDATE customer SET c_balance = %ld WHERE c_id = 1", sum);
    db_commit(db);
}
