/* The auction for the driver: what the users bid, and the consistency conditions. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../workload.h"

#define MOST_ITEMS 100000

/* The size of the database. */
static int users, items;

/* The highest bid on each item that a user has thought of, in cents. */
static atomic_llong highest[MOST_ITEMS];

/* Three of four bids are meant to be the highest; of two that are sent at the same time, the server
 * may see the higher one first. */
static enum transaction draw(enum transaction wanted, int client, struct random *random,
                             union transaction_input *in)
{
    int item = uniform(random, 1, items);
    long long cents;

    (void)client;
    if (uniform(random, 1, 4) == 1)
        cents = atomic_load(&highest[item - 1]);
    else
        cents = atomic_fetch_add(&highest[item - 1], 10) + 10;
    memset(&in->bid, 0, sizeof in->bid);
    in->bid.user_id = uniform(random, 1, users);
    in->bid.item_id = item;
    in->bid.amount = (double)cents / 100;
    return wanted;
}

static int measure(struct client *client, int *size)
{
    double user_count, item_count, price;

    if (client_number(client, "SELECT count(*) FROM bidder", &user_count) != 0 ||
        client_number(client, "SELECT count(*) FROM item", &item_count) != 0)
        return -1;
    if (item_count > MOST_ITEMS)
        item_count = MOST_ITEMS;
    if (item_count < 1 || *size > item_count) {
        fprintf(stderr, "driver: the database has %.0f items\n", item_count);
        return -1;
    }
    if (*size == 0)
        *size = (int)item_count;
    users = (int)user_count;
    items = *size;
    for (int i = 1; i <= items; i++) {
        char sql[64];

        snprintf(sql, sizeof sql, "SELECT i_max_bid FROM item WHERE i_id = %d", i);
        if (client_number(client, sql, &price) != 0)
            return -1;
        atomic_store(&highest[i - 1], (long long)(price * 100 + 0.5));
    }
    return 0;
}

static const struct condition conditions[] = {
    { "1: i_max_bid is the highest of the bids and the first price",
      "SELECT count(*) FROM item WHERE i_max_bid <> greatest(i_start, "
      "(SELECT coalesce(max(b_amount), 0) FROM bid WHERE b_i_id = i_id))" },
    { "2: i_max_u_id is a user with the highest bid",
      "SELECT count(*) FROM item WHERE i_max_u_id IS NOT NULL AND NOT EXISTS "
      "(SELECT 1 FROM bid WHERE b_i_id = i_id AND b_u_id = i_max_u_id "
      "AND b_amount = i_max_bid)" },
    { "3: i_raises is at most the number of bids, and 0 if nobody has raised the price",
      "SELECT count(*) FROM item WHERE (i_raises = 0) <> (i_max_u_id IS NULL) OR i_raises > "
      "(SELECT count(*) FROM bid WHERE b_i_id = i_id)" },
    { "4: u_bids is the number of bids",
      "SELECT count(*) FROM bidder WHERE u_bids <> "
      "(SELECT count(*) FROM bid WHERE b_u_id = u_id)" },
};

const struct workload bidding_workload = {
    .size_name = "items",
    .first = BID,
    .last = BID,
    .weights = { [BID] = 100 },
    .measure = measure,
    .draw = draw,
    .conditions = conditions,
    .condition_count = sizeof conditions / sizeof *conditions,
};
