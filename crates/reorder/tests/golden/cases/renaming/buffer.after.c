// The text of the second query overwrites all that the buffer holds.
// isolation: serializable
// renames: yes
// expect: moves
#include "shop.h"

void pay(struct db *db)
{
    char name[32], name_r1[32];

    db_begin(db);
    db_text(db, name, "UPDATE customer SET c_email = 'x' WHERE c_id = 1 RETURNING c_name");
    db_text(db, name_r1, "SELECT c_email FROM customer WHERE c_id = $1", 2);
    db_run(db, "UPDATE item SET i_name = $1 WHERE i_id = 1", name_r1);
    db_run(db, "UPDATE region SET r_name = $1 WHERE r_id = 1", name);
    db_commit(db);
}
