// Another function binds a text that SQLite does not copy. The update cannot move behind the
// statement that changes it.
// api: sqlite
// function: pay
// expect: unchanged
// keeps: write after read, `name` of `struct office`
#include <stdio.h>
#include <string.h>
#include <sqlite3.h>

struct office {
    sqlite3 *db;
    sqlite3_stmt *pay_region;
    char name[20];
};

int office_open(struct office *office)
{
    if (sqlite3_prepare_v2(office->db, "UPDATE region SET r_total = 1 WHERE r_name = ?1", -1,
                           &office->pay_region, NULL) != SQLITE_OK)
        return -1;
    return sqlite3_bind_text(office->pay_region, 1, office->name, -1, SQLITE_STATIC);
}

int pay(struct office *office)
{
    char sql[100];

    if (sqlite3_exec(office->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return -1;
    strcpy(office->name, "east");
    if (sqlite3_step(office->pay_region) != SQLITE_DONE)
        goto fail;
    sqlite3_reset(office->pay_region);
    strcpy(office->name, "west");
    snprintf(sql, sizeof sql, "INSERT INTO sale VALUES (1, 2, 3, '%s')", office->name);
    if (sqlite3_exec(office->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    if (sqlite3_exec(office->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        goto fail;
    return 0;
fail:
    sqlite3_reset(office->pay_region);
    sqlite3_exec(office->db, "ROLLBACK", NULL, NULL, NULL);
    return -1;
}
