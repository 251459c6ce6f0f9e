/* TPC-C for the driver: what the terminals enter. */
#include <stdio.h>
#include <string.h>

#include "../workload.h"
#include "check.h"

/* The size of the database. */
static int warehouses, customers /* of a district */, items;

struct terminal {
    struct random *random;
    int w_id;               /* its home warehouse */
};

/* Inputs, by the clauses 2.4.1 to 2.8.1. */

static int other_warehouse(struct terminal *terminal)
{
    int count = warehouses;
    int w_id;

    if (count == 1)
        return terminal->w_id;
    w_id = uniform(terminal->random, 1, count - 1);
    return w_id >= terminal->w_id ? w_id + 1 : w_id;
}

static int random_customer(struct terminal *terminal)
{
    return nurand(terminal->random, 1023, 1, customers);
}

/* Draws a last name that some customer of each district has. */
static void random_name(struct terminal *terminal, char name[17])
{
    int known = customers < 1000 ? customers : 1000;

    last_name(name, nurand(terminal->random, 255, 0, known - 1));
}

static void payment_in(struct terminal *terminal, struct payment_input *in)
{
    struct random *random = terminal->random;

    memset(in, 0, sizeof *in);
    in->w_id = terminal->w_id;
    in->d_id = uniform(random, 1, DISTRICTS);
    in->c_w_id = in->w_id;
    in->c_d_id = in->d_id;
    if (uniform(random, 1, 100) > 85) {
        in->c_w_id = other_warehouse(terminal);
        in->c_d_id = uniform(random, 1, DISTRICTS);
    }
    if (uniform(random, 1, 100) <= 60)
        random_name(terminal, in->c_last);
    else
        in->c_id = random_customer(terminal);
    in->h_amount = uniform(random, 100, 500000) / 100.0;
}

static void new_order_in(struct terminal *terminal, struct new_order_input *in)
{
    struct random *random = terminal->random;

    memset(in, 0, sizeof *in);
    in->w_id = terminal->w_id;
    in->d_id = uniform(random, 1, DISTRICTS);
    in->c_id = random_customer(terminal);
    in->ol_cnt = uniform(random, 5, MAX_LINES);
    for (int i = 0; i < in->ol_cnt; i++) {
        in->lines[i].i_id = nurand(random, 8191, 1, items);
        in->lines[i].supply_w_id = in->w_id;
        if (uniform(random, 1, 100) == 1)
            in->lines[i].supply_w_id = other_warehouse(terminal);
        in->lines[i].quantity = uniform(random, 1, 10);
    }
    if (uniform(random, 1, 100) == 1)
        in->lines[in->ol_cnt - 1].i_id = items + 1;
}

static void order_status_in(struct terminal *terminal, struct order_status_input *in)
{
    memset(in, 0, sizeof *in);
    in->w_id = terminal->w_id;
    in->d_id = uniform(terminal->random, 1, DISTRICTS);
    if (uniform(terminal->random, 1, 100) <= 60)
        random_name(terminal, in->c_last);
    else
        in->c_id = random_customer(terminal);
}

static enum transaction draw(enum transaction wanted, int client, struct random *random,
                             union transaction_input *in)
{
    struct terminal here = { random, client % warehouses + 1 };

    switch (wanted) {
    case PAYMENT:
        payment_in(&here, &in->payment);
        break;
    case NEW_ORDER:
        new_order_in(&here, &in->new_order);
        break;
    case ORDER_STATUS:
        order_status_in(&here, &in->order_status);
        break;
    case DELIVERY:
        in->delivery.w_id = here.w_id;
        in->delivery.o_carrier_id = uniform(random, 1, 10);
        break;
    default:
        in->stock_level.w_id = here.w_id;
        in->stock_level.d_id = uniform(random, 1, DISTRICTS);
        in->stock_level.threshold = uniform(random, 10, 20);
        break;
    }
    return wanted;
}

static int measure(struct client *client, int *size)
{
    double count, of_district, item_count;

    if (client_number(client, "SELECT count(*) FROM warehouse", &count) != 0 ||
        client_number(client, "SELECT count(*) FROM customer WHERE c_w_id = 1 AND c_d_id = 1",
                      &of_district) != 0 ||
        client_number(client, "SELECT count(*) FROM item", &item_count) != 0)
        return -1;
    if (count < 1 || *size > count) {
        fprintf(stderr, "driver: the database has %.0f warehouses\n", count);
        return -1;
    }
    if (*size == 0)
        *size = (int)count;
    warehouses = *size;
    customers = (int)of_district;
    items = (int)item_count;
    return 0;
}

const struct workload tpcc_workload = {
    .size_name = "warehouses",
    .first = PAYMENT,
    .last = STOCK_LEVEL,
    .weights = { [PAYMENT] = 45, [NEW_ORDER] = 43, [ORDER_STATUS] = 4, [DELIVERY] = 4,
                 [STOCK_LEVEL] = 4 },
    .measure = measure,
    .draw = draw,
    .conditions = tpcc_conditions,
    .condition_count = TPCC_CONDITIONS,
};
