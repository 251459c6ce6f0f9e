// A scale that is not negative leaves integers as they are.
// schema: CREATE TABLE parts (p_id NUMERIC(6, 2) PRIMARY KEY, p_sum INTEGER);
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long total;

    db_begin(db);
    db_run(db, "INSERT INTO parts VALUES (12, 0)");
    total = db_number(db, "SELECT p_sum FROM parts WHERE p_id = 10");
    db_commit(db);
    return total;
}
