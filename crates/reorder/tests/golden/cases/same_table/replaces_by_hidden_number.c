// The insert also replaces the row with the number 5, whatever its key.
// server: sqlite
// schema: CREATE TABLE tag (id TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL);
// schema: CREATE TABLE a (i INTEGER PRIMARY KEY, t TEXT REFERENCES tag (id));
// schema: CREATE TABLE b (i INTEGER PRIMARY KEY, t TEXT REFERENCES tag (id));
// expect: unchanged
// keeps: same table, both use the table `tag`
#include "shop.h"

long pay(struct db *db)
{
    long found;

    db_begin(db);
    db_run(db, "INSERT OR REPLACE INTO tag (rowid, id, n) VALUES (5, 1, 0)");
    found = db_number(db, "SELECT n FROM tag WHERE id = 2");
    db_commit(db);
    return found;
}
