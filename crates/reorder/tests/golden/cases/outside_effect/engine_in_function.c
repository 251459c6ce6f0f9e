// server: mysql
// schema: CREATE TABLE audit (a_id INTEGER, a_text VARCHAR(30)) ENGINE=MyISAM;
// schema: CREATE FUNCTION note() RETURNS INT BEGIN INSERT INTO audit VALUES (1, 'x'); RETURN 1; END;
// expect: unchanged
// keeps: barrier, the engine MyISAM
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE region SET r_total = note() WHERE r_id = 1");
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_commit(db);
}
