// The connection and the handles are fields of a structure of the caller.
// api: sqlite
// statement: self->stmts[PAY] = UPDATE region SET r_total = r_total + 1 WHERE r_id = ?
// statement: self->stmts[GET] = SELECT c_balance FROM customer WHERE c_id = ?
// expect: moves
#include <stddef.h>
#include <sqlite3.h>

enum { PAY, GET, STATEMENTS };

struct account {
    sqlite3 *db;
    sqlite3_stmt *stmts[STATEMENTS];
    long balance;
};

int pay(struct account *self, int region, int customer)
{
    sqlite3_stmt *stmt;

    if (sqlite3_exec(self->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;

    stmt = self->stmts[PAY];
    sqlite3_bind_int(stmt, 1, region);
    if (sqlite3_step(stmt) != SQLITE_DONE)
        goto fail;
    sqlite3_reset(stmt);

    stmt = self->stmts[GET];
    sqlite3_bind_int(stmt, 1, customer);
    if (sqlite3_step(stmt) != SQLITE_ROW)
        goto fail;
    self->balance = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);

    if (sqlite3_exec(self->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_exec(self->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
