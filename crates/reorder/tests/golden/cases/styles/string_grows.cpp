// The second text is put together from the first one: its query stays behind it.
// api: libpq
// expect: unchanged
#include <string>
#include <libpq-fe.h>

int pay(PGconn *conn, int region)
{
    std::string condition;
    std::string sql;
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "SELECT r_id FROM region WHERE r_id = 1 FOR UPDATE");
    if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) == 0)
        goto fail;
    condition = std::string(PQgetvalue(res, 0, 0)) + std::to_string(region);
    PQclear(res);

    sql = "UPDATE customer SET c_visits = 1 WHERE c_name = '" + condition + "'";
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
