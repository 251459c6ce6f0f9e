// The row that is deleted frees the number that SQLite gives to the inserted one, and that no column
// shows.
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
    db_run(db, "DELETE FROM tag WHERE id = 2");
    db_run(db, "INSERT INTO tag VALUES (3, 0)");
    found = db_number(db, "SELECT rowid FROM tag WHERE id = 3");
    db_commit(db);
    return found;
}
