// `lastval` is the number that the sale took.
// schema: CREATE SEQUENCE ticket;
// schema: CREATE SEQUENCE mark;
// expect: unchanged
// keeps: function, `nextval`
#include "shop.h"

long pay(struct db *db)
{
    long ticket;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = nextval('mark') WHERE s_id = 1");
    db_run(db, "INSERT INTO sale (x_item, x_customer, x_amount) VALUES (1, 2, nextval('ticket'))");
    ticket = db_number(db, "SELECT lastval()");
    db_commit(db);
    return ticket;
}
