/* Functions that use what is neither an input nor in the database. With AFTER they are the ones
 * after the reordering, which stand on other lines. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#define AFTER 0

static int run(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);
    PQclear(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

#define CHECK(conn, sql)                                       \
    do {                                                       \
        if (!run(conn, sql)) {                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, sql); \
            run(conn, "ROLLBACK");                             \
            return -__LINE__;                                  \
        }                                                      \
    } while (0)

/* Equal: the statement that fails stands on another line. */
int lines(PGconn *conn)
{
    CHECK(conn, "BEGIN");
    CHECK(conn, "UPDATE a SET x = 1");
    CHECK(conn, "COMMIT");
    return 0;
}

/* Different: the number behind the line is. */
int numbers(PGconn *conn)
{
    run(conn, "UPDATE a SET x = 1");
    fprintf(stderr, "%s:%d: %d\n", __FILE__, __LINE__, AFTER);
    return 0;
}

static int number(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    int value = PQntuples(result) > 0 ? atoi(PQgetvalue(result, 0, 0)) : -1;
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        value = -2;
    PQclear(result);
    return value;
}

/* Equal: the second attempt sees the same rows, although only one of the two programs has run the
 * SELECT in the first. */
int retries(PGconn *conn)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        int x = 0, done;
        run(conn, "BEGIN");
        if (AFTER)
            x = number(conn, "SELECT x FROM a");
        done = x != -2 && run(conn, "UPDATE b SET x = 1");
        if (!AFTER && done)
            x = number(conn, "SELECT x FROM a");
        if (done && x != -2 && run(conn, "COMMIT"))
            return x;
        run(conn, "ROLLBACK");
        sleep(1);
    }
    return -1;
}

/* Equal: the clocks and the random numbers are the same. */
int stamps(PGconn *conn)
{
    struct timeval day;
    struct timespec now;
    char sql[200];
    gettimeofday(&day, NULL);
    clock_gettime(CLOCK_REALTIME, &now);
    srand((unsigned)now.tv_nsec);
    snprintf(sql, sizeof sql, "UPDATE a SET x = %ld + %ld + %ld + %d", (long)time(NULL),
             (long)day.tv_usec, now.tv_nsec, rand());
    run(conn, "BEGIN");
    run(conn, sql);
    run(conn, "COMMIT");
    return 0;
}

/* Different: the two times are read in the other order. */
int times(PGconn *conn)
{
    time_t first = time(NULL), second = time(NULL);
    run(conn, "UPDATE a SET x = 1");
    return AFTER ? (int)(first - second) : (int)(second - first);
}

/* Equal, and ends soon: the clock goes on while the program waits. */
int waits(PGconn *conn)
{
    time_t end = time(NULL) + 3600;
    while (time(NULL) < end)
        usleep(900 * 1000 * 1000);
    run(conn, "UPDATE a SET x = 1");
    return 0;
}

struct holder {
    PGconn *conn;
};

/* Equal; only a function of the setup can make its argument. */
int held(struct holder *holder)
{
    return holder == NULL || holder->conn == NULL || run(holder->conn, "UPDATE a SET x = 1") ? 0 : -1;
}

struct answer {
    int code;
    char text[32];
};

/* Equal: the bytes behind the text are not set. */
struct answer answers(PGconn *conn)
{
    struct answer answer;

    answer.code = run(conn, "BEGIN") && run(conn, "UPDATE a SET x = 1") && run(conn, "COMMIT");
    snprintf(answer.text, sizeof answer.text, "%s", answer.code ? "ok" : "failed");
    return answer;
}
