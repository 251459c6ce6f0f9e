// The interface stores its rows through a pointer to a pointer; one variable is used for both.
// relaxed reads: yes
// expect: moves
#include <stddef.h>

#include "shop.h"

struct numbers {
    long total, stock;
};

int pay(struct db *db, struct numbers *numbers)
{
    struct rows *rows = NULL;

    db_begin(db);
    if (db_rows_of(db, &rows, "UPDATE region SET r_total = r_total + 1 WHERE r_id = 1 "
                              "RETURNING r_total"))
        goto fail;
    numbers->total = rows_number(rows, 0, 0);
    rows_free(rows);
    if (db_rows_of(db, &rows, "SELECT i_stock FROM item WHERE i_id = 2 FOR UPDATE"))
        goto fail;
    numbers->stock = rows_number(rows, 0, 0);
    rows_free(rows);
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
