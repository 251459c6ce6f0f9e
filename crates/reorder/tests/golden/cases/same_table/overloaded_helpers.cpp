// Two functions have one name, and the first call is one of the second function, which reads the
// total of the region behind the update.
// api: libpq
// expect: unchanged
// keeps: barrier, a name that several functions have
#include <string>

#include <libpq-fe.h>

static void add(PGconn *conn, int customer)
{
    std::string sql = "UPDATE customer SET c_visits = c_visits + 1 WHERE c_id = " + std::to_string(customer);
    PQclear(PQexec(conn, sql.c_str()));
}

static void add(PGconn *conn, const std::string &rest)
{
    std::string sql = "UPDATE customer SET c_balance = (SELECT sum(r_total) FROM region)" + rest;
    PQclear(PQexec(conn, sql.c_str()));
}

void pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    add(conn, " WHERE c_id = 3");
    add(conn, 7);
    PQclear(PQexec(conn, "COMMIT"));
}
