// The function returns the number that the insert has taken.
// schema: CREATE TABLE bill (b_id serial PRIMARY KEY, b_shop int);
// schema: CREATE FUNCTION new_key() RETURNS bigint LANGUAGE sql AS 'SELECT lastval()';
// api: libpq
// expect: unchanged
// keeps: function, the values of `nextval` and `lastval` change with each call
#include <libpq-fe.h>

static int run(PGconn *db, const char *sql)
{
    PGresult *result = PQexec(db, sql);
    int failed = PQresultStatus(result) != PGRES_COMMAND_OK;

    PQclear(result);
    return failed;
}

int pay(PGconn *db)
{
    if (run(db, "BEGIN"))
        return -1;
    if (run(db, "INSERT INTO bill (b_shop) VALUES (1)"))
        goto fail;
    if (run(db, "UPDATE region SET r_total = new_key() WHERE r_id = 1"))
        goto fail;
    if (run(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    run(db, "ROLLBACK");
    return -1;
}
