// The insert waits for the update of the same row of `shop`, which its foreign key refers to.
// server: mysql
// schema: CREATE TABLE visit (v_id INT AUTO_INCREMENT PRIMARY KEY, v_shop INT, FOREIGN KEY (v_shop) REFERENCES shop (s_id));
// objective: position
// expect: unchanged
// keeps: lost update, others from writing `sale`
#include <stdlib.h>

#include "shop.h"

int sell(struct db *db, int shop)
{
    char text[32];

    db_begin(db);
    if (db_run(db, "INSERT INTO visit (v_shop) VALUES (?)", shop))
        goto fail;
    if (db_text(db, text, "SELECT max(x_amount) + 1 FROM sale"))
        goto fail;
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, ?, NULL)", atoi(text)))
        goto fail;
    if (db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = ?", shop))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
