/* Loads TPC-C's initial data (specification, clause 4.3.3):
 *
 *     load ADDRESS SCHEMA WAREHOUSES [CUSTOMERS [ITEMS]]
 *
 * SCHEMA is the file with the tables; the tables of all examples are dropped first. A district has
 * CUSTOMERS customers and as many orders (3000 in the specification), and there are ITEMS items
 * (100000). The year-to-date sums of warehouses and districts follow the number of customers, so
 * that the consistency conditions hold at each size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../batch.h"
#include "random.h"

struct loader {
    struct client *client;
    struct random random;
    int customers;
    int items;
};

static const char *const tables[] = {
    "order_line", "stock", "item", "new_order", "orders", "history", "customer", "district",
    "warehouse",
};

/* Writes the values of an address: street_1 to zip. */
static void address(struct random *random, char text[128])
{
    char street_1[21], street_2[21], city[21], state[3];

    random_text(random, street_1, 10, 20);
    random_text(random, street_2, 10, 20);
    random_text(random, city, 10, 20);
    random_text(random, state, 2, 2);
    snprintf(text, 128, "'%s','%s','%s','%s','%04d11111'", street_1, street_2, city, state,
             uniform(random, 0, 9999));
}

/* Writes 26 to 50 characters of data, a tenth of them with the word ORIGINAL. */
static void original(struct random *random, char text[51])
{
    random_text(random, text, 26, 50);
    if (uniform(random, 1, 10) == 1)
        memcpy(text + uniform(random, 0, (int)strlen(text) - 8), "ORIGINAL", 8);
}

static void load_items(struct loader *loader)
{
    struct batch items = { .client = loader->client, .table = "item" };
    struct random *random = &loader->random;
    char name[25], data[51];

    for (int i_id = 1; i_id <= loader->items; i_id++) {
        random_text(random, name, 14, 24);
        original(random, data);
        row(&items, "%d,%d,'%s',%.2f,'%s'", i_id, uniform(random, 1, 10000), name,
            uniform(random, 100, 10000) / 100.0, data);
    }
    batch_end(&items);
}

static void load_stock(struct loader *loader, int w_id)
{
    struct batch stock = { .client = loader->client, .table = "stock" };
    struct random *random = &loader->random;
    char dist[10][25], data[51];

    for (int i_id = 1; i_id <= loader->items; i_id++) {
        for (int i = 0; i < 10; i++)
            random_text(random, dist[i], 24, 24);
        original(random, data);
        row(&stock, "%d,%d,%d,'%s','%s','%s','%s','%s','%s','%s','%s','%s','%s',0,0,0,'%s'", i_id,
            w_id, uniform(random, 10, 100), dist[0], dist[1], dist[2], dist[3], dist[4], dist[5],
            dist[6], dist[7], dist[8], dist[9], data);
    }
    batch_end(&stock);
}

static void load_customers(struct loader *loader, int w_id, int d_id)
{
    struct batch customers = { .client = loader->client, .table = "customer" };
    struct batch history = { .client = loader->client, .table = "history" };
    struct random *random = &loader->random;
    char first[17], last[17], place[128], data[501];

    for (int c_id = 1; c_id <= loader->customers; c_id++) {
        last_name(last, c_id <= 1000 ? c_id - 1 : nurand(random, 255, 0, 999));
        random_text(random, first, 8, 16);
        address(random, place);
        random_text(random, data, 300, 500);
        row(&customers,
            "%d,%d,%d,'%s','OE','%s',%s,'%08d%08d',CURRENT_TIMESTAMP,'%s',50000.00,%.4f,-10.00,"
            "10.00,1,0,'%s'",
            c_id, d_id, w_id, first, last, place, uniform(random, 0, 99999999),
            uniform(random, 0, 99999999), uniform(random, 1, 10) == 1 ? "BC" : "GC",
            uniform(random, 0, 5000) / 10000.0, data);
    }
    batch_end(&customers);

    for (int c_id = 1; c_id <= loader->customers; c_id++) {
        random_text(random, data, 12, 24);
        row(&history, "%d,%d,%d,%d,%d,CURRENT_TIMESTAMP,10.00,'%s'", c_id, d_id, w_id, d_id, w_id,
            data);
    }
    batch_end(&history);
}

static void load_order_lines(struct loader *loader, int w_id, int d_id, const int *counts)
{
    struct batch lines = { .client = loader->client, .table = "order_line" };
    struct random *random = &loader->random;
    char info[25];

    for (int o_id = 1; o_id <= loader->customers; o_id++) {
        int delivered = o_id <= loader->customers * 7 / 10;

        for (int number = 1; number <= counts[o_id - 1]; number++) {
            random_text(random, info, 24, 24);
            row(&lines, "%d,%d,%d,%d,%d,%d,%s,5,%.2f,'%s'", o_id, d_id, w_id, number,
                uniform(random, 1, loader->items), w_id, delivered ? "CURRENT_TIMESTAMP" : "NULL",
                delivered ? 0.0 : uniform(random, 1, 999999) / 100.0, info);
        }
    }
    batch_end(&lines);
}

static void load_orders(struct loader *loader, int w_id, int d_id)
{
    struct batch orders = { .client = loader->client, .table = "orders" };
    struct batch new_orders = { .client = loader->client, .table = "new_order" };
    struct random *random = &loader->random;
    int count = loader->customers;
    int *c_ids = check_memory(malloc((size_t)count * sizeof *c_ids));
    int *lines = check_memory(malloc((size_t)count * sizeof *lines));
    char carrier[12];

    for (int i = 0; i < count; i++) {
        int j = uniform(random, 0, i);

        c_ids[i] = c_ids[j];
        c_ids[j] = i + 1;
        lines[i] = uniform(random, 5, MAX_LINES);
    }
    for (int o_id = 1; o_id <= count; o_id++) {
        snprintf(carrier, sizeof carrier, "%d", uniform(random, 1, 10));
        row(&orders, "%d,%d,%d,%d,CURRENT_TIMESTAMP,%s,%d,1", o_id, d_id, w_id, c_ids[o_id - 1],
            o_id <= count * 7 / 10 ? carrier : "NULL", lines[o_id - 1]);
    }
    batch_end(&orders);
    for (int o_id = count * 7 / 10 + 1; o_id <= count; o_id++)
        row(&new_orders, "%d,%d,%d", o_id, d_id, w_id);
    batch_end(&new_orders);
    load_order_lines(loader, w_id, d_id, lines);
    free(lines);
    free(c_ids);
}

static void load_warehouse(struct loader *loader, int w_id)
{
    struct batch warehouses = { .client = loader->client, .table = "warehouse" };
    struct batch districts = { .client = loader->client, .table = "district" };
    struct random *random = &loader->random;
    char name[11], place[128];

    random_text(random, name, 6, 10);
    address(random, place);
    row(&warehouses, "%d,'%s',%s,%.4f,%d", w_id, name, place, uniform(random, 0, 2000) / 10000.0,
        DISTRICTS * loader->customers * 10);
    batch_end(&warehouses);
    for (int d_id = 1; d_id <= DISTRICTS; d_id++) {
        random_text(random, name, 6, 10);
        address(random, place);
        row(&districts, "%d,%d,'%s',%s,%.4f,%d,%d", d_id, w_id, name, place,
            uniform(random, 0, 2000) / 10000.0, loader->customers * 10, loader->customers + 1);
    }
    batch_end(&districts);
    load_stock(loader, w_id);
    for (int d_id = 1; d_id <= DISTRICTS; d_id++) {
        load_customers(loader, w_id, d_id);
        load_orders(loader, w_id, d_id);
    }
}

int main(int argc, char **argv)
{
    struct loader loader = { .customers = 3000, .items = 100000 };
    int warehouses;

    if (argc < 4 || argc > 6) {
        fputs("usage: load ADDRESS SCHEMA WAREHOUSES [CUSTOMERS [ITEMS]]\n", stderr);
        return 2;
    }
    warehouses = atoi(argv[3]);
    if (argc > 4)
        loader.customers = atoi(argv[4]);
    if (argc > 5)
        loader.items = atoi(argv[5]);
    if (warehouses < 1 || loader.customers < 10 || loader.items < 100) {
        fputs("load: at least 1 warehouse, 10 customers and 100 items are needed\n", stderr);
        return 2;
    }
    random_seed(&loader.random, 1);
    loader.client = client_open(argv[1]);
    if (loader.client == NULL)
        return 1;
    create_tables(loader.client, argv[2]);
    execute(loader.client, "BEGIN");
    load_items(&loader);
    for (int w_id = 1; w_id <= warehouses; w_id++)
        load_warehouse(&loader, w_id);
    finish(loader.client, tables, sizeof tables / sizeof *tables);
    printf("loaded %d warehouse%s: %d customers a district, %d items\n", warehouses,
           warehouses == 1 ? "" : "s", loader.customers, loader.items);
    return 0;
}
