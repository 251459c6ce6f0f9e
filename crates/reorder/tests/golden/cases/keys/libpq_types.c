// The types of the parameters are stated, and may make different texts equal.
// api: libpq
// relaxed reads: yes
// splits: yes
// distinct: id
// expect: unchanged
#include <stdio.h>
#include <libpq-fe.h>

struct input {
    int count;
    long long id[15];
};

int order(PGconn *db, const struct input *in, const Oid *types)
{
    PGresult *res;
    const char *params[1];
    char id[24];

    res = PQexec(db, "BEGIN");
    PQclear(res);
    for (int i = 0; i < in->count; i++) {
        snprintf(id, sizeof id, "%lld", in->id[i]);
        params[0] = id;
        res = PQexecParams(db, "SELECT r_total FROM region WHERE r_id = $1", 1, NULL, params,
                           NULL, NULL, 0);
        if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
            goto fail;
        PQclear(res);

        res = PQexecParams(db, "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1", 1, types,
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
