/* Loads the auction's initial data:
 *
 *     load ADDRESS SCHEMA ITEMS [USERS]
 *
 * SCHEMA is the file with the tables; the tables of all examples are dropped first. There are no
 * bids, and 10000 users unless the call says how many. */
#include <stdio.h>
#include <stdlib.h>

#include "../batch.h"
#include "../tpcc/random.h"

static const char *const tables[] = { "bid", "item", "bidder" };

int main(int argc, char **argv)
{
    struct client *client;
    struct batch users = { .table = "bidder" }, items = { .table = "item" };
    struct random random;
    int item_count, user_count;
    char name[33];

    item_count = argc > 3 ? atoi(argv[3]) : 0;
    user_count = argc > 4 ? atoi(argv[4]) : 10000;
    if (argc < 4 || argc > 5 || item_count < 1 || user_count < 1) {
        fputs("usage: load ADDRESS SCHEMA ITEMS [USERS]\n", stderr);
        return 2;
    }
    random_seed(&random, 1);
    client = client_open(argv[1]);
    if (client == NULL)
        return 1;
    create_tables(client, argv[2]);
    execute(client, "BEGIN");
    users.client = client;
    items.client = client;
    for (int i = 1; i <= user_count; i++) {
        random_text(&random, name, 8, 32);
        row(&users, "%d,'%s',%s,0,0.00", i, name, i % 1000 == 0 ? "TRUE" : "FALSE");
    }
    batch_end(&users);
    for (int i = 1; i <= item_count; i++) {
        int price = uniform(&random, 1, 100);

        random_text(&random, name, 8, 32);
        row(&items, "%d,'%s',FALSE,%d.00,%d.00,NULL,0", i, name, price, price);
    }
    batch_end(&items);
    finish(client, tables, sizeof tables / sizeof *tables);
    printf("loaded %d items and %d users\n", item_count, user_count);
    return 0;
}
