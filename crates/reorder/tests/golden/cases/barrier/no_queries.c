// expect: refused, `pay` has no query that a model describes
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    unknown();
    db_commit(db);
}
