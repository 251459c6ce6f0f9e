// The SQL is put together from strings.
// api: libpq
// expect: moves
#include <string>
#include <libpq-fe.h>

int pay(PGconn *conn, int region, int customer)
{
    std::string sql;
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));

    sql = "INSERT INTO sale VALUES (1, " + std::to_string(customer) + ", 1, 'x')";
    res = PQexec(conn, sql.c_str());
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    sql = "UPDATE region SET r_total = r_total + 1 WHERE r_id = " + std::to_string(region);
    res = PQexec(conn, sql.c_str());
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    PQclear(PQexec(conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
}
