// Functions of the file check, format and copy for some queries; others call the interface directly.
// api: libpq
// expect: moves
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <libpq-fe.h>

struct session {
    PGconn *conn;
    int errors;
};

struct answer {
    char name[31];
    int balance;
};

static int check(struct session *session, PGresult *res, ExecStatusType wanted)
{
    if (PQresultStatus(res) == wanted)
        return 0;
    session->errors++;
    return -1;
}

static void copy(char *to, size_t size, const PGresult *res, int column)
{
    snprintf(to, size, "%s", PQgetvalue(res, 0, column));
}

int pay(struct session *session, int region, int customer, struct answer *answer)
{
    char id[12];
    const char *values[1] = { id };
    PGresult *res;

    PQclear(PQexec(session->conn, "BEGIN"));
    snprintf(id, sizeof id, "%d", region);
    res = PQexecParams(session->conn, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", 1,
                       NULL, values, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);

    snprintf(id, sizeof id, "%d", customer);
    res = PQexecParams(session->conn, "SELECT c_name, c_balance FROM customer WHERE c_id = $1", 1,
                       NULL, values, NULL, NULL, 0);
    if (check(session, res, PGRES_TUPLES_OK) != 0 || PQntuples(res) == 0)
        goto fail;
    copy(answer->name, sizeof answer->name, res, 0);
    answer->balance = atoi(PQgetvalue(res, 0, 1));
    PQclear(res);

    PQclear(PQexec(session->conn, "COMMIT"));
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(session->conn, "ROLLBACK"));
    return -1;
}
