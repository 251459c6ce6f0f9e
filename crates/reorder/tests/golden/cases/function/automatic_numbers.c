// Both tables number their rows from sequences of their own.
// schema: CREATE TABLE ticket (t_id SERIAL PRIMARY KEY, t_name TEXT, t_more TEXT UNIQUE);
// schema: CREATE TABLE mark (m_id SERIAL PRIMARY KEY, m_name TEXT);
// expect: unchanged
// keeps: function, `nextval`
#include "shop.h"

void pay(struct db *db)
{
    db_begin(db);
    db_run(db, "INSERT INTO ticket (t_name, t_more) VALUES ('a', 'b') "
               "ON CONFLICT (t_more) DO UPDATE SET t_name = 'c'");
    db_run(db, "INSERT INTO mark (m_name) VALUES ('a')");
    db_commit(db);
}
