// The first query takes the first number.
// expect: unchanged
// schema: CREATE SEQUENCE ticket;
// keeps: function, `nextval`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = nextval('ticket') WHERE s_id = 1");
    db_run(db, "INSERT INTO sale (x_item, x_customer, x_amount) VALUES (1, 2, nextval('ticket'))");
    db_commit(db);
}
