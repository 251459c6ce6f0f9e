// The helper appends to its copy of the text, so that it is not the caller's.
// api: libpq
// function: pay
// expect: unchanged
// keeps: barrier, no known source
#include <string>

#include <libpq-fe.h>

static void run(PGconn *conn, std::string sql, const std::string &rest)
{
    sql += rest;
    PQclear(PQexec(conn, sql.c_str()));
}

void pay(PGconn *conn, int amount)
{
    PQclear(PQexec(conn, "BEGIN"));
    run(conn, "UPDATE region SET r_total = " + std::to_string(amount), "");
    run(conn, "UPDATE customer SET c_visits = 1", ", c_name = 'x'");
    PQclear(PQexec(conn, "COMMIT"));
}
