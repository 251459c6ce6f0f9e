// The keys are texts in an array of parameters. The exit frees the result of the failed query.
// api: libpq
// sort keys: yes
// expect: moves
#include <stdio.h>
#include <stdlib.h>
#include <libpq-fe.h>

struct input {
    int count;
    long long shop[15];
};

int order(PGconn *db, const struct input *in)
{
    PGresult *res;
    const char *params[1];
    char id[24];
    long region[15];

    res = PQexec(db, "BEGIN");
    PQclear(res);
    for (int i = 0; i < in->count; i++) {
        snprintf(id, sizeof id, "%lld", in->shop[i]);
        params[0] = id;
        res = PQexecParams(db, "SELECT s_region FROM shop WHERE s_id = $1", 1, NULL, params, NULL,
                           NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        region[i] = atol(PQgetvalue(res, 0, 0));
        PQclear(res);
    }
    for (int i = 0; i < in->count; i++) {
        snprintf(id, sizeof id, "%ld", region[i]);
        params[0] = id;
        res = PQexecParams(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", 1, NULL,
                           params, NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_COMMAND_OK)
            goto fail;
        PQclear(res);
    }
    res = PQexec(db, "COMMIT");
    PQclear(res);
    return 0;
fail:
    PQclear(res);
    PQclear(PQexec(db, "ROLLBACK"));
    return -1;
}
