// The trigger inserts a row, of which the column takes a number.
// schema: CREATE TABLE audit (a_id serial PRIMARY KEY);
// schema: CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO audit DEFAULT VALUES; RETURN NEW; END$$;
// schema: CREATE TRIGGER t AFTER UPDATE ON region FOR EACH ROW EXECUTE FUNCTION put();
// api: libpq
// expect: unchanged
// keeps: function, change with each call
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
    if (run(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"))
        goto fail;
    if (run(db, "UPDATE customer SET c_visits = currval('audit_a_id_seq') WHERE c_id = 2"))
        goto fail;
    if (run(db, "COMMIT"))
        goto fail;
    return 0;
fail:
    run(db, "ROLLBACK");
    return -1;
}
