// The class frees the result where its scope ends.
// api: libpq
// expect: unchanged
#include <libpq-fe.h>

class Result {
public:
    explicit Result(PGresult *result) : result_(result) {}
    ~Result() { PQclear(result_); }
    bool ok() const { return PQresultStatus(result_) == PGRES_COMMAND_OK; }

private:
    PGresult *result_;
};

int pay(PGconn *conn)
{
    PQclear(PQexec(conn, "BEGIN"));
    Result first(PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1"));
    if (!first.ok()) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    Result second(PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2"));
    if (!second.ok()) {
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
