// PostgreSQL's now() is the time at which the transaction began.
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = extract(epoch FROM now()) WHERE s_id = 1");
    db_run(db, "INSERT INTO sale (x_item, x_customer, x_amount, x_note) VALUES (1, 2, 3, now())");
    db_commit(db);
}
