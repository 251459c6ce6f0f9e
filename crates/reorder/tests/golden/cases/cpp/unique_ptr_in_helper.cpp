// A function of the file owns the result until it returns; its number says if the query failed.
// api: libpq
// function: pay
// expect: moves
#include <memory>

#include <libpq-fe.h>

static int run(PGconn *conn, const char *sql)
{
    const std::unique_ptr<PGresult, void (*)(PGresult *)> result(PQexec(conn, sql), PQclear);

    return PQresultStatus(result.get()) == PGRES_COMMAND_OK ? 0 : -1;
}

int pay(PGconn *conn)
{
    int rc;

    if (run(conn, "BEGIN") < 0)
        return -1;
    rc = run(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (rc < 0)
        goto out;
    rc = run(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    if (rc < 0)
        goto out;
out:
    run(conn, rc < 0 ? "ROLLBACK" : "COMMIT");
    return rc;
}
