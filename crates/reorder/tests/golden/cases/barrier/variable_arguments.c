// The helper reads its arguments with va_arg, which the tool does not follow.
// function: pay
// expect: unchanged
// keeps: barrier
#include <stdarg.h>

#include "shop.h"

static void clear(int count, ...)
{
    va_list list;

    va_start(list, count);
    while (count-- > 0)
        *va_arg(list, long *) = 0;
    va_end(list);
}

void pay(struct db *db)
{
    long a = 1, b = 2;

    db_begin(db);
    db_run(db, "UPDATE region SET r_total = $1 WHERE r_id = 1", a);
    clear(2, &a, &b);
    db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", b);
    db_commit(db);
}
