// The trigger may refuse the row; the program reports that the shop is missing first.
// schema: CREATE FUNCTION limits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.c_balance < 0 THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$;
// schema: CREATE TRIGGER limited BEFORE UPDATE ON customer FOR EACH ROW EXECUTE FUNCTION limits();
// expect: unchanged
// keeps: exit, what a query returned
#include "shop.h"

int pay(struct db *db, int shop)
{
    long count;

    db_begin(db);
    count = db_number(db, "SELECT s_count FROM shop WHERE s_id = $1 FOR UPDATE", shop);
    if (count == 0) {
        db_rollback(db);
        return -2;
    }
    if (db_run(db, "UPDATE customer SET c_balance = -1 WHERE c_id = 2")) {
        db_rollback(db);
        return -1;
    }
    db_commit(db);
    return 0;
}
