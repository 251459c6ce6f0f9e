// The constructor of the exception that the caller throws reads the error.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: read after write, it writes the result of a query
#include <cstddef>
#include <stdexcept>

#include <sqlite3.h>

#define RUN(sql) sqlite3_exec(db, sql, NULL, NULL, NULL)

struct Failure : std::runtime_error {
    explicit Failure(sqlite3 *db) : std::runtime_error(sqlite3_errmsg(db)) {}
};

static int pay(sqlite3 *db, int customer)
{
    int status = -1;
    sqlite3_stmt *region = nullptr, *visit = nullptr;

    if (sqlite3_prepare_v2(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1", -1,
                           &region, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = ?", -1,
                           &visit, NULL) != SQLITE_OK)
        goto done;
    if (RUN("BEGIN IMMEDIATE") != SQLITE_OK)
        goto done;
    if (sqlite3_step(region) != SQLITE_DONE)
        goto undo;
    sqlite3_bind_int(visit, 1, customer);
    if (sqlite3_step(visit) != SQLITE_DONE)
        goto undo;
    if (RUN("COMMIT") == SQLITE_OK) {
        status = 0;
        goto done;
    }
undo:
    RUN("ROLLBACK");
done:
    sqlite3_finalize(visit);
    sqlite3_finalize(region);
    return status;
}

void pay_or_throw(sqlite3 *db, int customer)
{
    if (pay(db, customer) != 0)
        throw Failure(db);
}
