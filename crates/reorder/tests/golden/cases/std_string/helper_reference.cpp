// A helper gets the text as a reference: by name, and as a new string.
// api: libpq
// expect: moves
#include <string>

#include <libpq-fe.h>

static int run(PGconn *conn, const std::string &sql)
{
    PGresult *result = PQexec(conn, sql.c_str());
    int ok = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return ok ? 0 : -1;
}

int pay(PGconn *conn, long amount, int customer)
{
    if (run(conn, "BEGIN"))
        return -1;
    std::string add = "UPDATE region SET r_total = r_total + " + std::to_string(amount / 100) + " WHERE r_id = 1";
    if (run(conn, add)) {
        run(conn, "ROLLBACK");
        return -1;
    }
    if (run(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = " + std::to_string(customer))) {
        run(conn, "ROLLBACK");
        return -1;
    }
    return run(conn, "COMMIT");
}
