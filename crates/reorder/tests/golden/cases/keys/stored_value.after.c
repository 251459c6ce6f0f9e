// The column has all values of the type, so that MySQL stores each as it is.
// server: mysql
// objective: position
// splits: yes
// distinct: id
// schema: CREATE TABLE slot (k INTEGER PRIMARY KEY, n INTEGER NOT NULL);
// expect: moves
#include <stdio.h>
#include "shop.h"

void order(struct db *db, const int *id, int count)
{
    db_begin(db);
    for (int i = 0; i < count; i++) {
        db_format(db, "INSERT INTO slot (k, n) VALUES (%d, 1)", id[i]);
    }
    for (int i = 0; i < count; i++) {
        db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
        db_format(db, "UPDATE slot SET n = 2 WHERE k = %d", id[i]);
    }
    db_commit(db);
}
