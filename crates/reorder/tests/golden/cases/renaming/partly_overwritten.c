// Behind the first character the buffer keeps the older text.
// isolation: serializable
// renames: yes
// expect: unchanged
// not renamed: it writes a part of it
#include "shop.h"

void pay(struct db *db)
{
    char name[32];

    db_begin(db);
    db_text(db, name, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_name");
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", name);
    name[0] = (char)db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 2);
    db_run(db, "UPDATE item SET i_name = $1 WHERE i_id = 1", name);
    db_commit(db);
}
