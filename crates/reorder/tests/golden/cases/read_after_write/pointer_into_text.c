// `rest` leads into the text.
// expect: unchanged
// keeps: read after write
#include "shop.h"

void visit(struct db *db)
{
    char text[32] = "", *rest = text + 1;

    db_begin(db);
    db_text(db, text, "SELECT r_name FROM region WHERE r_id = 1 FOR UPDATE");
    db_run(db, "UPDATE customer SET c_name = $1 WHERE c_id = 2", rest);
    db_commit(db);
}
