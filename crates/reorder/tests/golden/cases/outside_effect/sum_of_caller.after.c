// The caller tries again after a failure. An attempt that fails at the region must not have added
// the price: the next one would add it once more. Only the query for the price moves.
// api: sqlite
// expect: moves
// keeps: outside effect, a later call reads
#include <stddef.h>

#include <sqlite3.h>

struct cart {
    int item;
    long total;
};

static int price_of(sqlite3 *db, int item, long *price)
{
    sqlite3_stmt *query = NULL;

    if (sqlite3_prepare_v2(db, "SELECT i_price FROM item WHERE i_id = ?", -1, &query, NULL) !=
        SQLITE_OK)
        return -1;
    sqlite3_bind_int(query, 1, item);
    *price = sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int(query, 0) : 0;
    sqlite3_finalize(query);
    return 0;
}

int pay(sqlite3 *db, struct cart *k)
{
    long price = 0;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    if (price_of(db, k->item, &price))
        goto fail;
    if (sqlite3_exec(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto fail;
    k->total += price;
    if (sqlite3_exec(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2", NULL, NULL,
                     NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}

int pay_at_last(sqlite3 *db, struct cart *k)
{
    for (int tries = 0; tries < 3; tries++) {
        if (pay(db, k) == 0)
            return 0;
    }
    return -1;
}
