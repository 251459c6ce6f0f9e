// The transaction is repeated if it fails.
// api: libpq
// expect: moves
#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    PGresult *res = PQexec(conn, sql);
    int ok = PQresultStatus(res) == PGRES_COMMAND_OK;

    PQclear(res);
    return ok;
}

int pay(PGconn *conn)
{
    int attempts = 3;

    while (attempts-- > 0) {
        if (!run(conn, "BEGIN"))
            return -1;
        if (!run(conn, "INSERT INTO sale VALUES (1, 2, 1, 'x')")) {
            run(conn, "ROLLBACK");
            continue;
        }
        if (!run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1")) {
            run(conn, "ROLLBACK");
            continue;
        }
        if (run(conn, "COMMIT"))
            return 0;
    }
    return -1;
}
