/* A connection to a database server, as the driver and the loader see it. There is one
 * implementation for each client library: client_libpq.c, client_mariadb.c. */
#ifndef CLIENT_H
#define CLIENT_H

#include "bidding/auction.h"
#include "tpcc/terminal.h"
#include "tpce/brokerage.h"

enum transaction {
    PAYMENT,
    NEW_ORDER,
    ORDER_STATUS,
    DELIVERY,
    STOCK_LEVEL,
    TRADE_ORDER,
    TRADE_RESULT,
    TRADE_UPDATE,
    TRADE_STATUS,
    BID,
    TRANSACTIONS
};

/* What a transaction ended with. A transaction returns COMMITTED, ROLLED_BACK if it decided so
 * itself, or FAILED if a query failed. */
enum { COMMITTED = 0, ROLLED_BACK = 1, FAILED = -1 };

union transaction_input {
    struct payment_input payment;
    struct new_order_input new_order;
    struct order_status_input order_status;
    struct delivery_input delivery;
    struct stock_level_input stock_level;
    struct trade_order_input trade_order;
    struct trade_result_input trade_result;
    struct trade_update_input trade_update;
    struct trade_status_input trade_status;
    struct bid_input bid;
};

union transaction_output {
    struct payment_output payment;
    struct new_order_output new_order;
    struct order_status_output order_status;
    struct delivery_output delivery;
    struct stock_level_output stock_level;
    struct trade_order_output trade_order;
    struct trade_result_output trade_result;
    struct trade_update_output trade_update;
    struct trade_status_output trade_status;
    struct bid_output bid;
};

struct client;

/* Connects, and prepares statements if a linked transaction needs it. Returns NULL after a message
 * on stderr if that fails. */
struct client *client_open(const char *address);

void client_close(struct client *client);

/* Returns 1 if the connection can be used, and 0 if the server has closed it. */
int client_alive(struct client *client);

/* Runs one statement without a result. Returns 0, or -1 after a message on stderr. */
int client_execute(struct client *client, const char *sql);

/* Renews the server's statistics of a table. Returns 0, or -1 after a message on stderr. */
int client_analyze(struct client *client, const char *table);

/* Runs a query and stores the number in the first column of its first row. Returns 0, or -1 after a
 * message on stderr. */
int client_number(struct client *client, const char *sql, double *number);

/* Returns 1 if the program was linked with the transaction. */
int client_has(enum transaction transaction);

/* Runs a transaction that the program was linked with. Returns how it ended. */
int client_run(struct client *client, enum transaction transaction,
               const union transaction_input *in, union transaction_output *out);

#endif
