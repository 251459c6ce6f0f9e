// Functions that exceptions leave. With AFTER they are the ones after the reordering.
#include <stdexcept>
#include <string>

#include <libpq-fe.h>

#define AFTER 0

static void run(PGconn *conn, const char *sql, const char *error)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    if (status == PGRES_COMMAND_OK)
        return;
    PQclear(PQexec(conn, "ROLLBACK"));
    if (AFTER && *error == '!')
        throw int(status);
    throw std::runtime_error(error + (*error == '!'));
}

// Equal.
int throws(PGconn *conn)
{
    run(conn, "BEGIN", "begin");
    run(conn, "UPDATE a SET x = 1", "a");
    run(conn, "COMMIT", "commit");
    return 0;
}

// Different: it throws something else.
int throws_other(PGconn *conn)
{
    run(conn, "BEGIN", "begin");
    run(conn, "UPDATE a SET x = 1", "!a");
    run(conn, "COMMIT", "commit");
    return 0;
}

// An object that a function of the setup makes.
class Holder {
public:
    explicit Holder(PGconn *conn) : conn_(conn) {}
    PGconn *conn() const { return conn_; }

private:
    PGconn *conn_;
};

Holder *make_holder(PGconn *conn)
{
    static Holder holder(conn);
    return &holder;
}

// Equal.
int held(Holder &holder)
{
    run(holder.conn(), "BEGIN", "begin");
    run(holder.conn(), "UPDATE a SET x = 1", "a");
    run(holder.conn(), "COMMIT", "commit");
    return 0;
}
