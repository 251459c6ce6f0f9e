// Listing 1 of the paper: its payment transaction. listing.rs orders it by the paper's Table 1.
// Here, by the estimates of the schema, the reads move before the updates as well.
// isolation: serializable
// schema: CREATE TABLE warehouse (w_id INTEGER PRIMARY KEY, w_name VARCHAR(10), w_ytd INTEGER);
// schema: CREATE TABLE district (d_id INTEGER PRIMARY KEY, d_name VARCHAR(10), d_ytd INTEGER);
// schema: CREATE TABLE history (h_names VARCHAR(32), h_more VARCHAR(32));
// expect: moves
#include "shop.h"

void payment(struct db *db, long w_id, long d_id, long c_id, const char *c_last)
{
    char w_name[32], d_name[32], c_credit[32];

    db_begin(db);
    db_text(db, w_name, "SELECT w_name FROM warehouse WHERE w_id = $1", w_id);
    db_text(db, d_name, "SELECT d_name FROM district WHERE d_id = $1", d_id);
    if (c_id == 0) {
        c_id = db_number(db, "SELECT c_id FROM customer WHERE c_name = $1", c_last);
    }
    db_text(db, c_credit, "SELECT c_name FROM customer WHERE c_id = $1", c_id);
    db_run(db, "INSERT INTO history VALUES ($1, $2)", w_name, d_name);
    db_run(db, "UPDATE warehouse SET w_ytd = w_ytd + 1, w_name = $1 WHERE w_id = $2", w_name, w_id);
    db_run(db, "UPDATE district SET d_ytd = d_ytd + 1, d_name = 'd' WHERE d_id = $1", d_id);
    if (c_credit[0] == 'G') {
        db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = $2", w_id, c_id);
    } else {
        c_id = c_id + w_id;
        db_run(db, "UPDATE customer SET c_visits = $1 WHERE c_id = 2", c_id);
    }
    db_commit(db);
}
