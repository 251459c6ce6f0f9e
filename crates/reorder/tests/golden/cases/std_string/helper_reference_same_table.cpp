// The texts that the helper gets name the same table.
// api: libpq
// expect: unchanged
// keeps: same table
#include <string>

#include <libpq-fe.h>

static void run(PGconn *conn, const std::string &sql) { PQclear(PQexec(conn, sql.c_str())); }

void pay(PGconn *conn, long amount)
{
    run(conn, "BEGIN");
    std::string add = "UPDATE region SET r_total = r_total + " + std::to_string(amount);
    run(conn, add);
    add = "UPDATE region SET r_total = r_total * 2";
    run(conn, add);
    run(conn, "COMMIT");
}
