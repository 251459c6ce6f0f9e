// Parameters come from compound literals, designated initialisers and conditions.
// api: libpq
// expect: moves
#include <stdio.h>
#include <libpq-fe.h>

struct request {
    const char *sql;
    int count;
};

int pay(PGconn *conn, int region, int item, int large)
{
    char region_text[12], item_text[12];
    const struct request update = {
        .sql = "UPDATE region SET r_total = r_total + 1 WHERE r_id = $1",
        .count = 1,
    };
    PGresult *res;

    snprintf(region_text, sizeof region_text, "%d", region);
    snprintf(item_text, sizeof item_text, "%d", item);
    PQclear(PQexec(conn, "BEGIN"));
    res = PQexecParams(conn, "INSERT INTO sale VALUES ($1, 2, $2, 'x')", 2, NULL,
                       (const char *const[]){ item_text, large ? "10" : "1" }, NULL, NULL, 0);
    if (PQresultStatus(res) != PGRES_COMMAND_OK)
        goto fail;
    PQclear(res);
    res = PQexecParams(conn, update.sql, update.count, NULL,
                       (const char *const[]){ region_text }, NULL, NULL, 0);
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
