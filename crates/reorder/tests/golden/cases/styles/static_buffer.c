// Static buffers hold the SQL; the handles are global variables that another function prepares.
// api: sqlite
// expect: moves
#include <stddef.h>
#include <sqlite3.h>

static sqlite3_stmt *pay_region, *get_customer;

int prepare_all(sqlite3 *db)
{
    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = ?", -1,
                           &pay_region, NULL) != SQLITE_OK)
        return -1;
    return sqlite3_prepare_v2(db, "SELECT c_balance FROM customer WHERE c_id = ?", -1,
                              &get_customer, NULL) == SQLITE_OK ? 0 : -1;
}

int pay(sqlite3 *db, int region, int customer, long *balance)
{
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    sqlite3_bind_int(pay_region, 1, region);
    if (sqlite3_step(pay_region) != SQLITE_DONE)
        goto fail;
    sqlite3_reset(pay_region);
    sqlite3_bind_int(get_customer, 1, customer);
    if (sqlite3_step(get_customer) != SQLITE_ROW)
        goto fail;
    *balance = sqlite3_column_int64(get_customer, 0);
    sqlite3_reset(get_customer);
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
