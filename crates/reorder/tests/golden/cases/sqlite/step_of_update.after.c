// An update returns no row: another result than SQLITE_DONE is a failure.
// api: sqlite
// function: pay
// expect: moves
#include <sqlite3.h>

struct shop {
    sqlite3 *db;
    sqlite3_stmt *add_to_region;
    sqlite3_stmt *add_item;
};

int shop_open(struct shop *shop)
{
    if (sqlite3_prepare_v2(shop->db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?",
                           -1, &shop->add_to_region, 0) != SQLITE_OK)
        return -1;
    return sqlite3_prepare_v2(shop->db, "INSERT INTO item VALUES (?, 1, 'x', 1, 1)", -1,
                              &shop->add_item, 0);
}

int pay(struct shop *shop, int region, int item)
{
    int rc;

    if (sqlite3_exec(shop->db, "BEGIN", 0, 0, 0) != SQLITE_OK)
        return -1;
    sqlite3_bind_int(shop->add_item, 1, item);
    rc = sqlite3_step(shop->add_item);
    sqlite3_reset(shop->add_item);
    if (rc != SQLITE_DONE)
        goto fail;
    sqlite3_bind_int(shop->add_to_region, 1, region);
    rc = sqlite3_step(shop->add_to_region);
    sqlite3_reset(shop->add_to_region);
    if (rc != SQLITE_DONE)
        goto fail;
    if (sqlite3_exec(shop->db, "COMMIT", 0, 0, 0) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(shop->db, "ROLLBACK", 0, 0, 0);
    return -1;
}
