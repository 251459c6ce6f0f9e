// The nodes of a list lead to each other.
// expect: unchanged
// keeps: read after write
#include <stdlib.h>

#include "shop.h"

struct node {
    struct node *next;
    long value;
};

void visit(struct db *db, struct node *list)
{
    struct node *last = list->next;

    db_begin(db);
    list->next->value = db_number(db, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", last->value);
    db_commit(db);
}
