// `currval` is the number that the insert took; both move before the update of the region.
// expect: moves
// schema: CREATE SEQUENCE ticket;
// keeps: function, `nextval`
#include "shop.h"

long pay(struct db *db)
{
    long ticket;

    db_begin(db);
    db_run(db, "INSERT INTO sale (x_item, x_customer, x_amount) VALUES (1, 2, nextval('ticket'))");
    ticket = db_number(db, "SELECT currval('ticket')");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
    return ticket;
}
