/* The connection for MariaDB. The address is the path of the server's Unix socket; user and
 * database are called tpcc. A program may be linked with any of the transactions; payment may be
 * the one with texts or payment_prepared. Those that are missing are null. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>

#include <mysql.h>

#include "bidding/mariadb/bid.h"
#include "tpcc/mariadb/delivery.h"
#include "tpcc/mariadb/new_order.h"
#include "tpcc/mariadb/order_status.h"
#include "tpcc/mariadb/payment.h"
#include "tpcc/mariadb/stock_level.h"
#include "tpce/mariadb/trade_order.h"
#include "tpce/mariadb/trade_result.h"
#include "tpce/mariadb/trade_status.h"
#include "tpce/mariadb/trade_update.h"

#pragma weak payment
#pragma weak payment_prepared
#pragma weak payment_prepare
#pragma weak payment_close
#pragma weak new_order
#pragma weak order_status
#pragma weak delivery
#pragma weak stock_level
#pragma weak trade_order
#pragma weak trade_result
#pragma weak trade_update
#pragma weak trade_status
#pragma weak bid

struct client {
    MYSQL mysql;
    struct payment_statements *payment;
};

struct client *client_open(const char *address)
{
    struct client *client = malloc(sizeof *client);

    if (client == NULL)
        return NULL;
    client->payment = NULL;
    mysql_init(&client->mysql);
    if (!mysql_real_connect(&client->mysql, NULL, "tpcc", NULL, "tpcc", 0, address, 0)) {
        fprintf(stderr, "cannot connect: %s\n", mysql_error(&client->mysql));
        client_close(client);
        return NULL;
    }
    if (payment_prepare && (client->payment = payment_prepare(&client->mysql)) == NULL) {
        client_close(client);
        return NULL;
    }
    return client;
}

void client_close(struct client *client)
{
    if (client->payment != NULL)
        payment_close(client->payment);
    mysql_close(&client->mysql);
    free(client);
}

int client_alive(struct client *client)
{
    return mysql_ping(&client->mysql) == 0;
}

/* Runs a statement and drops its result, if it has one. */
int client_execute(struct client *client, const char *sql)
{
    if (mysql_query(&client->mysql, sql) != 0) {
        fprintf(stderr, "%.60s...: %s\n", sql, mysql_error(&client->mysql));
        return -1;
    }
    mysql_free_result(mysql_store_result(&client->mysql));
    return 0;
}

int client_analyze(struct client *client, const char *table)
{
    char sql[64];

    snprintf(sql, sizeof sql, "ANALYZE TABLE %s", table);
    return client_execute(client, sql);
}

int client_number(struct client *client, const char *sql, double *number)
{
    MYSQL_RES *res = NULL;
    MYSQL_ROW row = NULL;

    if (mysql_query(&client->mysql, sql) == 0) {
        res = mysql_store_result(&client->mysql);
        if (res != NULL)
            row = mysql_fetch_row(res);
    }
    if (row != NULL && row[0] != NULL)
        *number = atof(row[0]);
    else
        fprintf(stderr, "%.60s...: %s\n", sql, mysql_error(&client->mysql));
    mysql_free_result(res);
    return row != NULL ? 0 : -1;
}

int client_has(enum transaction transaction)
{
    switch (transaction) {
    case PAYMENT:
        return payment != NULL || payment_prepared != NULL;
    case NEW_ORDER:
        return new_order != NULL;
    case ORDER_STATUS:
        return order_status != NULL;
    case DELIVERY:
        return delivery != NULL;
    case STOCK_LEVEL:
        return stock_level != NULL;
    case TRADE_ORDER:
        return trade_order != NULL;
    case TRADE_RESULT:
        return trade_result != NULL;
    case TRADE_UPDATE:
        return trade_update != NULL;
    case TRADE_STATUS:
        return trade_status != NULL;
    case BID:
        return bid != NULL;
    default:
        return 0;
    }
}

int client_run(struct client *client, enum transaction transaction,
               const union transaction_input *in, union transaction_output *out)
{
    switch (transaction) {
    case PAYMENT:
        if (client->payment != NULL)
            return payment_prepared(&client->mysql, client->payment, &in->payment, &out->payment);
        return payment(&client->mysql, &in->payment, &out->payment);
    case NEW_ORDER:
        return new_order(&client->mysql, &in->new_order, &out->new_order);
    case ORDER_STATUS:
        return order_status(&client->mysql, &in->order_status, &out->order_status);
    case DELIVERY:
        return delivery(&client->mysql, &in->delivery, &out->delivery);
    case STOCK_LEVEL:
        return stock_level(&client->mysql, &in->stock_level, &out->stock_level);
    case TRADE_ORDER:
        return trade_order(&client->mysql, &in->trade_order, &out->trade_order);
    case TRADE_RESULT:
        return trade_result(&client->mysql, &in->trade_result, &out->trade_result);
    case TRADE_UPDATE:
        return trade_update(&client->mysql, &in->trade_update, &out->trade_update);
    case TRADE_STATUS:
        return trade_status(&client->mysql, &in->trade_status, &out->trade_status);
    case BID:
        return bid(&client->mysql, &in->bid, &out->bid);
    default:
        return FAILED;
    }
}
