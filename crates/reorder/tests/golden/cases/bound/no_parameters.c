// Another function prepares a statement without parameters: it reads no memory of the program.
// api: sqlite
// function: pay
// expect: moves
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
    if (sqlite3_prepare_v2(office->db, "UPDATE region SET r_total = 1 WHERE r_id = 1", -1,
                           &office->pay_region, NULL) != SQLITE_OK)
        return -1;
    return 0;
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
