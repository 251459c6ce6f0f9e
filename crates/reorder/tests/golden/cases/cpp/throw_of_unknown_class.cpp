// No model describes the exception; what the barrier stores before it leaves no later statement
// sees, so that the order of the source breaks no constraint.
// api: libpq
// expect: unchanged
// keeps: barrier, `Failure` is constructed
#include <libpq-fe.h>

struct Failure {
    explicit Failure(const char *text);
    char text[80];
};

void pay(PGconn *conn)
{
    PGresult *r = PQexec(conn, "BEGIN");
    PQclear(r);
    r = PQexec(conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1");
    if (PQresultStatus(r) != PGRES_COMMAND_OK) {
        PQclear(r);
        r = PQexec(conn, "ROLLBACK");
        PQclear(r);
        throw Failure(PQerrorMessage(conn));
    }
    PQclear(r);
    r = PQexec(conn, "UPDATE customer SET c_visits = 1 WHERE c_id = 2");
    PQclear(r);
    r = PQexec(conn, "COMMIT");
    PQclear(r);
}
