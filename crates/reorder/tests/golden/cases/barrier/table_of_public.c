// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE public.region SET r_total = r_total + 1 WHERE r_id = 1");
    db_run(db, "UPDATE public.customer SET c_visits = 3 WHERE c_id = 2");
    db_commit(db);
}
