// A macro runs a query, checks it and leaves.
// api: mysql
// expect: moves
#include <stdio.h>
#include <stdlib.h>
#include <mysql.h>

#define CHECK(call)                                          \
    do {                                                     \
        if ((call) != 0) {                                   \
            fprintf(stderr, "pay: %s\n", mysql_error(db));   \
            goto fail;                                       \
        }                                                    \
    } while (0)

int pay(MYSQL *db, int region, int customer)
{
    char sql[128];

    CHECK(mysql_query(db, "START TRANSACTION"));
    snprintf(sql, sizeof sql, "UPDATE region SET r_total = r_total + 1 WHERE r_id = %d", region);
    CHECK(mysql_query(db, sql));
    snprintf(sql, sizeof sql, "INSERT INTO sale VALUES (1, %d, 1, 'x')", customer);
    CHECK(mysql_query(db, sql));
    CHECK(mysql_query(db, "COMMIT"));
    return 0;
fail:
    mysql_rollback(db);
    return -1;
}
