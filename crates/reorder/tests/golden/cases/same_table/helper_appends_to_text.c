// The helper appends to the text of its caller before it runs it.
// expect: unchanged
// keeps: barrier, the SQL text
#include <string.h>
#include "shop.h"

static int run(struct db *db, char *sql)
{
    strcat(sql, " AND c_balance < (SELECT max(r_total) FROM region)");
    return db_run(db, sql);
}

int pay(struct db *db)
{
    char q[200];
    char *p;

    db_begin(db);
    if (db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    strcpy(q, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    p = q;
    if (run(db, p))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
