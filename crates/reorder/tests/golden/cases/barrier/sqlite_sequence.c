// An insert into a table with AUTOINCREMENT changes a table of SQLite itself.
// server: sqlite
// schema: CREATE TABLE job (id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER);
// schema: CREATE TABLE sqlite_sequence(name,seq);
// expect: unchanged
// keeps: barrier, `sqlite_sequence` is a table of SQLite itself
#include "shop.h"

long pay(struct db *db)
{
    long found;

    db_begin(db);
    db_run(db, "INSERT INTO job (n) VALUES (1)");
    found = db_number(db, "SELECT seq FROM sqlite_sequence WHERE name = 'job'");
    db_commit(db);
    return found;
}
