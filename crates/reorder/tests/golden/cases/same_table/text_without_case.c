// MySQL compares texts without regard to case, unless the column says otherwise.
// server: mysql
// schema: CREATE TABLE word (w_text VARCHAR(9) PRIMARY KEY, w_count INTEGER);
// expect: unchanged
// keeps: same table, `word`
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "UPDATE word SET w_count = w_count + 1 WHERE w_text = 'A'");
    total = db_number(db, "SELECT w_count FROM word WHERE w_text = 'a'");
    db_commit(db);
    return total;
}
