// The function writes the log, and the query reads customers.
// schema: CREATE FUNCTION note() RETURNS trigger AS $$ BEGIN INSERT INTO log VALUES ('x'); RETURN NEW; END $$ LANGUAGE plpgsql;
// schema: CREATE TRIGGER t AFTER UPDATE ON shop FOR EACH ROW EXECUTE FUNCTION note();
// expect: moves
#include "shop.h"

long pay(struct db *db)
{
    long count;

    db_begin(db);
    db_run(db, "UPDATE shop SET s_total = s_total + 1 WHERE s_id = 1");
    count = db_number(db, "SELECT count(*) FROM customer");
    db_commit(db);
    return count;
}
