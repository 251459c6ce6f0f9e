// The macro makes a text of the name: another name would be another text.
// isolation: serializable
// renames: yes
// expect: unchanged
#include "shop.h"

#define NOTE(value) db_run(db, "INSERT INTO log VALUES ($1)", #value, value)

void pay(struct db *db)
{
    long v;

    db_begin(db);
    v = db_number(db, "UPDATE customer SET c_visits = 1 WHERE c_id = 1 RETURNING c_shop");
    db_run(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", v);
    v = db_number(db, "SELECT c_visits FROM customer WHERE c_id = $1", 1);
    NOTE(v);
    db_commit(db);
}
