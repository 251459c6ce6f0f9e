// A helper has more paths than are followed, but they differ in numbers that are not read again.
// function: pay
// expect: moves
#include "shop.h"

static int step(struct db *db, const char *sql, int flags)
{
    int a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
    int g = 0, h = 0, i = 0, j = 0, k = 0, l = 0;
    int price = 0;

    if (flags & 1)
        a = 1;
    price += a;
    if (flags & 2)
        b = 2;
    price += b;
    if (flags & 4)
        c = 3;
    price += c;
    if (flags & 8)
        d = 4;
    price += d;
    if (flags & 16)
        e = 5;
    price += e;
    if (flags & 32)
        f = 6;
    price += f;
    if (flags & 64)
        g = 7;
    price += g;
    if (flags & 128)
        h = 8;
    price += h;
    if (flags & 256)
        i = 9;
    price += i;
    if (flags & 512)
        j = 10;
    price += j;
    if (flags & 1024)
        k = 11;
    price += k;
    if (flags & 2048)
        l = 12;
    price += l;
    return db_run(db, sql, price) ? -1 : 0;
}

int pay(struct db *db, int flags)
{
    db_begin(db);
    if (step(db, "INSERT INTO sale VALUES (1, 2, $1, 'x')", flags))
        goto fail;
    if (step(db, "UPDATE region SET r_total = r_total + $1 WHERE r_id = 1", flags))
        goto fail;
    db_commit(db);
    return 0;
fail:
    db_rollback(db);
    return -1;
}
