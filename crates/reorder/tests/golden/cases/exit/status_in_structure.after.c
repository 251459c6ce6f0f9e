// The helper keeps the status in a structure and tests it behind another call: that is a check.
// server: mysql
// function: pay
// expect: moves
#include "shop.h"

struct session {
    struct db *db;
    int status;
};

/* Shows the status in programs that are built for tests. */
static void show(const struct session *session)
{
    (void)session;
}

static int step(struct session *session, const char *sql)
{
    session->status = db_run(session->db, sql);
    show(session);
    if (session->status)
        return -1;
    return 0;
}

int pay(struct db *db)
{
    struct session session = { db, 0 };

    db_begin(db);
    if (db_run(db, "INSERT INTO sale VALUES (1, 2, 3, 'x')"))
        goto fail;
    if (step(&session, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1") != 0)
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
