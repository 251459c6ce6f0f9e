/* What the driver needs to know of a database and its transactions. */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stddef.h>

#include "client.h"
#include "tpcc/random.h"

/* A consistency condition: the query counts the rows that violate it. */
struct condition {
    const char *name;
    const char *violations;
};

struct workload {
    const char *size_name;          /* the setting for the number of rows that the clients share */
    enum transaction first;         /* the transactions from here to last belong to it */
    enum transaction last;
    int weights[TRANSACTIONS];      /* the proportions of the transactions */

    /* Reads the size of the database. Sets the size if it is 0. Returns 0, or -1 after a message
     * on stderr if the database has less. */
    int (*measure)(struct client *client, int *size);

    /* Draws the input of a transaction for the client with a number. Returns the transaction, or
     * another one if there is no input for it yet. Several threads may call it. */
    enum transaction (*draw)(enum transaction wanted, int client, struct random *random,
                             union transaction_input *in);

    /* Takes notice of a transaction that has committed. May be null. */
    void (*committed)(enum transaction transaction, const union transaction_output *out);

    const struct condition *conditions;
    size_t condition_count;
};

extern const struct workload tpcc_workload, tpce_workload, bidding_workload;

#endif
