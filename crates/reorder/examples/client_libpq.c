/* The connection for PostgreSQL. A program may be linked with any of the transactions; those that
 * are missing are null. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include "bidding/bid.h"
#include "tpcc/delivery.h"
#include "tpcc/new_order.h"
#include "tpcc/order_status.h"
#include "tpcc/payment.h"
#include "tpcc/stock_level.h"
#include "tpce/trade_order.h"
#include "tpce/trade_result.h"
#include "tpce/trade_status.h"
#include "tpce/trade_update.h"

#pragma weak payment
#pragma weak payment_prepare
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
    PGconn *conn;
};

static void ignore_notice(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

struct client *client_open(const char *address)
{
    struct client *client = malloc(sizeof *client);

    if (client == NULL)
        return NULL;
    client->conn = PQconnectdb(address);
    if (PQstatus(client->conn) != CONNECTION_OK) {
        fprintf(stderr, "cannot connect: %s", PQerrorMessage(client->conn));
        client_close(client);
        return NULL;
    }
    PQsetNoticeProcessor(client->conn, ignore_notice, NULL);
    if (payment_prepare && payment_prepare(client->conn) != 0) {
        fprintf(stderr, "cannot prepare payment: %s", PQerrorMessage(client->conn));
        client_close(client);
        return NULL;
    }
    return client;
}

void client_close(struct client *client)
{
    PQfinish(client->conn);
    free(client);
}

int client_alive(struct client *client)
{
    return PQstatus(client->conn) == CONNECTION_OK;
}

int client_execute(struct client *client, const char *sql)
{
    PGresult *res = PQexec(client->conn, sql);
    int ok = PQresultStatus(res) == PGRES_COMMAND_OK;

    if (!ok)
        fprintf(stderr, "%.60s...: %s", sql, PQerrorMessage(client->conn));
    PQclear(res);
    return ok ? 0 : -1;
}

int client_analyze(struct client *client, const char *table)
{
    char sql[64];

    snprintf(sql, sizeof sql, "VACUUM ANALYZE %s", table);
    return client_execute(client, sql);
}

int client_number(struct client *client, const char *sql, double *number)
{
    PGresult *res = PQexec(client->conn, sql);
    int ok = PQresultStatus(res) == PGRES_TUPLES_OK && PQntuples(res) > 0;

    if (ok)
        *number = atof(PQgetvalue(res, 0, 0));
    else
        fprintf(stderr, "%.60s...: %s\n", sql, PQerrorMessage(client->conn));
    PQclear(res);
    return ok ? 0 : -1;
}

int client_has(enum transaction transaction)
{
    switch (transaction) {
    case PAYMENT:
        return payment != NULL;
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
        return payment(client->conn, &in->payment, &out->payment);
    case NEW_ORDER:
        return new_order(client->conn, &in->new_order, &out->new_order);
    case ORDER_STATUS:
        return order_status(client->conn, &in->order_status, &out->order_status);
    case DELIVERY:
        return delivery(client->conn, &in->delivery, &out->delivery);
    case STOCK_LEVEL:
        return stock_level(client->conn, &in->stock_level, &out->stock_level);
    case TRADE_ORDER:
        return trade_order(client->conn, &in->trade_order, &out->trade_order);
    case TRADE_RESULT:
        return trade_result(client->conn, &in->trade_result, &out->trade_result);
    case TRADE_UPDATE:
        return trade_update(client->conn, &in->trade_update, &out->trade_update);
    case TRADE_STATUS:
        return trade_status(client->conn, &in->trade_status, &out->trade_status);
    case BID:
        return bid(client->conn, &in->bid, &out->bid);
    default:
        return FAILED;
    }
}
