/* Small functions, each for one rule of the comparison. With REWRITTEN they are the ones after the
 * reordering. */
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#ifdef REWRITTEN
#define AFTER 1
#else
#define AFTER 0
#endif

static int run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/* Returns the number that a query finds, -1 if it finds no row, -2 if it fails. */
static int number(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    int value = PQresultStatus(result) == PGRES_TUPLES_OK ? -1 : -2;
    if (PQntuples(result) > 0)
        value = atoi(PQgetvalue(result, 0, 0));
    PQclear(result);
    return value;
}

static int undo(PGconn *conn, int status)
{
    run(conn, "ROLLBACK");
    return status;
}

/* Different: it ends the program when a query fails. */
int leaves(PGconn *conn)
{
    if (!run(conn, "UPDATE a SET x = 1")) {
        if (AFTER)
            exit(3);
        return -1;
    }
    return 0;
}

/* Different: another level of isolation. */
int isolates(PGconn *conn)
{
    if (!run(conn, AFTER ? "BEGIN" : "BEGIN ISOLATION LEVEL SERIALIZABLE"))
        return -1;
    return run(conn, "UPDATE a SET x = 1") && run(conn, "COMMIT") ? 0 : undo(conn, -2);
}

/* Different: it says something on standard error. */
int warns(PGconn *conn)
{
    if (AFTER)
        fprintf(stderr, "warning\n");
    return run(conn, "UPDATE a SET x = 1") ? 0 : -1;
}

/* Returns the status, or another one if the query does not find an even number. */
static int check(PGconn *conn, const char *sql, int status)
{
    int value = number(conn, sql);
    return value >= 0 && value % 2 == 0 ? 0 : status;
}

/* Equal: of two reasons to give up, the program may notice either first. */
int checks(PGconn *conn)
{
    if (!run(conn, "BEGIN"))
        return -1;
    int status = AFTER ? check(conn, "SELECT x FROM b", -3) : check(conn, "SELECT x FROM a", -2);
    if (status == 0)
        status = AFTER ? check(conn, "SELECT x FROM a", -2) : check(conn, "SELECT x FROM b", -3);
    if (status != 0)
        return undo(conn, status);
    return run(conn, "COMMIT") ? 0 : undo(conn, -4);
}

/* Equal: without a row in a, it asks b and c, which may be two more reasons to give up. */
int asks_more(PGconn *conn)
{
    if (!run(conn, "BEGIN"))
        return -1;
    int value = number(conn, "SELECT x FROM a"), status = value == -2 ? -5 : 0;
    if (value == -1)
        status = AFTER ? check(conn, "SELECT x FROM b", -3) : check(conn, "SELECT x FROM c", -2);
    if (value == -1 && status == 0)
        status = AFTER ? check(conn, "SELECT x FROM c", -2) : check(conn, "SELECT x FROM b", -3);
    if (status != 0)
        return undo(conn, status);
    return run(conn, "COMMIT") ? 0 : undo(conn, -4);
}

/* Different: it runs a statement that is not prepared. */
int unprepared(PGconn *conn)
{
    PGresult *result = PQexecPrepared(conn, AFTER ? "later" : "earlier", 0, NULL, NULL, NULL, 0);
    int done = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
    return done ? 0 : -1;
}

void prepare(PGconn *conn)
{
    PQclear(PQprepare(conn, "earlier", "UPDATE a SET x = 2", 0, NULL));
}

/* Equal if it is called within a transaction; otherwise each query is a transaction of its own. */
int step(PGconn *conn)
{
    const char *queries[] = {"UPDATE a SET x = 1", "UPDATE b SET x = 1"};
    if (!run(conn, queries[AFTER]))
        return -1;
    return run(conn, queries[1 - AFTER]) ? 0 : -1;
}

/* Different: it does not end. */
int repeats(PGconn *conn)
{
    while (!run(conn, "UPDATE a SET x = 1") && AFTER)
        PQreset(conn);
    while (AFTER)
        run(conn, "SELECT x FROM a");
    return 0;
}

/* Different: it loops without a query. */
int hangs(PGconn *conn)
{
    volatile int waits = AFTER;
    run(conn, "UPDATE a SET x = 1");
    while (waits)
        ;
    return 0;
}

/* It never commits, and breaks when the query fails. */
int breaks(PGconn *conn)
{
    run(conn, "BEGIN");
    if (!run(conn, "UPDATE a SET x = 1"))
        abort();
    return undo(conn, 0);
}

/* Equal only if the column is a date, which has a dash before the day. */
int dates(PGconn *conn)
{
    PGresult *result = PQexec(conn, "SELECT day FROM a");
    int found = PQntuples(result) == 1;
    int dash = found && PQgetlength(result, 0, 0) == 10 && PQgetvalue(result, 0, 0)[7] == '-';
    PQclear(result);
    return found && !dash ? AFTER : 0;
}
