// The number that the helper returns says only if its query has failed, so that the insert, which
// may fail itself, need not stay behind the exit.
// api: libpq
// schema: CREATE TABLE visit (v_id INTEGER PRIMARY KEY, v_note TEXT);
// function: pay
// expect: moves
#include <libpq-fe.h>

static int ok(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int good = PQresultStatus(res) == PGRES_COMMAND_OK;

    PQclear(res);
    return good;
}

int pay(PGconn *conn)
{
    if (!ok(conn, "BEGIN"))
        return -1;
    if (!ok(conn, "INSERT INTO visit VALUES (7, 'x')")) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -3;
    }
    if (!ok(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -2;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
