/* Statements over SQLite that a function prepares once; one reads a text of the structure. */
#include <string.h>

#include <sqlite3.h>

struct statements {
    sqlite3_stmt *rename, *note;
    char name[8];
};

int prepare(sqlite3 *db, struct statements *all)
{
    memset(all->name, 'x', sizeof all->name);
    return sqlite3_prepare_v2(db, "UPDATE account SET a_name = ? WHERE a_id = 1", -1,
                              &all->rename, NULL)
        || sqlite3_prepare_v2(db, "UPDATE bank SET b_total = 1 WHERE b_id = 1", -1, &all->note,
                              NULL)
        || sqlite3_bind_text(all->rename, 1, all->name, sizeof all->name, SQLITE_STATIC);
}

int rename_account(sqlite3 *db, struct statements *all, int letter)
{
    int code;

    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    all->name[0] = (char)('A' + (letter & 15));
    code = sqlite3_step(all->note);
    sqlite3_reset(all->note);
    if (code != SQLITE_DONE)
        goto fail;
    code = sqlite3_step(all->rename);
    sqlite3_reset(all->rename);
    if (code != SQLITE_DONE)
        goto fail;
    all->name[0] = 'z';
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;

fail:
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
