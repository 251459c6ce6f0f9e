// The texts of `pay` stand in a table, of which the helper takes one by its number.
// expect: moves
// left open: `pay` may begin a transaction, but the SQL of its queries is not known (line 27)
#include "shop.h"

enum text { BEGIN, REGION, CUSTOMER, COMMIT };

struct entry {
    int number;
    const char *sql;
};

static const struct entry entries[] = {
    {BEGIN, "BEGIN"},
    {REGION, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"},
    {CUSTOMER, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2"},
    {COMMIT, "COMMIT"},
};

static int run(struct db *db, enum text text)
{
    return db_run(db, entries[text].sql);
}

int pay(struct db *db)
{
    if (run(db, BEGIN))
        return -1;
    run(db, REGION);
    run(db, CUSTOMER);
    return run(db, COMMIT);
}

void order(struct db *db)
{
    db_begin(db);
    db_run(db, "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = 2");
    db_run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    db_commit(db);
}
