// One character of the text changes behind the query that wrote it.
// expect: unchanged
#include "shop.h"

void visit(struct db *db)
{
    char text[32];

    db_begin(db);
    db_text(db, text, "SELECT r_name FROM region WHERE r_id = 1 FOR UPDATE");
    text[0] = 'X';
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", text);
    db_commit(db);
}
