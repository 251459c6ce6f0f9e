// A helper steps the statement; the update returns a row, and then the exit is no failure of it.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: exit, it leaves the transaction depending on what a query returned
#include <sqlite3.h>

struct shop {
    sqlite3 *db;
    sqlite3_stmt *add_to_region;
    sqlite3_stmt *add_item;
};

int shop_open(struct shop *shop)
{
    if (sqlite3_prepare_v2(shop->db,
                           "UPDATE region SET r_total = r_total + 1 WHERE r_id = ? RETURNING r_id",
                           -1, &shop->add_to_region, 0) != SQLITE_OK)
        return -1;
    return sqlite3_prepare_v2(shop->db, "INSERT INTO item VALUES (?, 1, 'x', 1, 1)", -1,
                              &shop->add_item, 0);
}

static int run(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);

    sqlite3_reset(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int fails(sqlite3_stmt *statement)
{
    return run(statement) != SQLITE_OK;
}

int pay(struct shop *shop, int region, int item)
{
    if (sqlite3_exec(shop->db, "BEGIN", 0, 0, 0) != SQLITE_OK)
        return -1;
    sqlite3_bind_int(shop->add_to_region, 1, region);
    if (fails(shop->add_to_region))
        goto fail;
    sqlite3_bind_int(shop->add_item, 1, item);
    if (run(shop->add_item) != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(shop->db, "COMMIT", 0, 0, 0) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(shop->db, "ROLLBACK", 0, 0, 0);
    return -1;
}
